#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "engine/types.hpp"

namespace vouch::engine {

/// A token that is found in text as a whole, before any splitting.
struct added_token {
  token_id id = 0;
  std::string content;
  /// Needs neighbours that are no word characters.
  bool single_word = false;
  /// Takes the white space before or behind it along.
  bool lstrip = false;
  bool rstrip = false;
  /// Looked for in normalised text, in its own normalised spelling.
  bool normalized = false;
  /// Control token.
  bool special = false;
};

/// Finds added tokens: leftmost, then longest. A byte trie.
class added_token_matcher {
 public:
  /// Empty spellings never match; of equal spellings the first counts.
  void add(added_token token);
  bool empty() const { return tokens_.empty(); }

  struct match {
    std::size_t begin = 0;
    std::size_t end = 0;
    token_id id = 0;
  };

  /// What may be recognised in a stretch of text.
  enum class scope {
    /// Every added token.
    all,
    /// Those that are not special.
    plain,
    /// Those made of white space alone: untrusted text, in which a spelled-out
    /// "<think>" is text, too.
    spaces
  };

  /// Appends the matches inside text[begin, end), left to right, not
  /// overlapping. Looks at what stands around them for single_word.
  void find(std::string_view text, std::size_t begin, std::size_t end,
            scope allowed, std::vector<match>& out) const;

 private:
  struct node {
    /// Sorted by byte.
    std::vector<std::pair<unsigned char, std::uint32_t>> next;
    /// Index into tokens_, -1 where none ends.
    std::int32_t token = -1;
  };
  struct entry {
    added_token token;
    bool spaces = false;
  };

  const entry* longest(std::string_view text, std::size_t at, std::size_t end,
                       scope allowed) const;

  std::vector<entry> tokens_;
  std::vector<node> nodes_{1};
  std::array<bool, 256> begins_{};
};

}  // namespace vouch::engine
