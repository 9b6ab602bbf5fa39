#pragma once

#include <string>
#include <vector>

#include "engine/tokenizer/json_reader.hpp"
#include "engine/tokenizer/normalizer.hpp"
#include "engine/tokenizer/pre_tokenizer.hpp"
#include "engine/tokenizer/vocabulary.hpp"

namespace vouch::engine {

// Readers of the steps a tokenizer.json names. What they do not know is an
// input_error that names its place in the file.

/// Appends a "normalizer".
void read_normalizer(const json_node& node, normalizer_steps& out);

/// Appends a "pre_tokenizer". `byte_level` becomes true after a ByteLevel,
/// which must be the last step: from there on pieces are bytes.
void read_pre_tokenizer(const json_node& node, split_steps& out,
                        bool& byte_level);

/// A "decoder": how one token's spelling becomes bytes. Tokens are decoded one
/// by one, so a step that looks at a whole text is refused, but for the space
/// that is taken off its start.
class token_decoder {
 public:
  void read(const json_node& node);
  std::string decode(std::string_view spelling) const;
  std::size_t leading_spaces() const { return leading_spaces_; }

 private:
  struct step {
    enum class kind { byte_level, byte_fallback, replace, strip };
    kind what = kind::byte_level;
    std::string from;
    std::string to;
    std::size_t start = 0;
    std::size_t stop = 0;
  };
  std::vector<step> steps_;
  bool fused_ = false;
  std::size_t leading_spaces_ = 0;
};

/// The tokens a "post_processor" puts before and behind a text.
void read_post_processor(const json_node& node, const vocabulary& words,
                         std::vector<token_id>& prefix,
                         std::vector<token_id>& suffix);

}  // namespace vouch::engine
