#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "engine/types.hpp"

namespace vouch::engine {

/// The tokens of a model: spelling, bytes and kind by id, and ids by spelling.
/// Filled by a loader, then frozen.
class vocabulary {
 public:
  vocabulary() = default;
  vocabulary(vocabulary&&) = default;
  vocabulary& operator=(vocabulary&&) = default;

  /// Ids are below this, so that a wrong file cannot ask for much memory.
  static constexpr token_id max_id = 1 << 24;

  enum flag : std::uint8_t {
    /// Named by the vocabulary (ids in gaps are not).
    present = 1,
    /// Control token, left out of decoded text.
    special = 2,
    /// Recognised as a whole in trusted text.
    added = 4,
    /// Added, and not in the model's own vocabulary: pieces never become it.
    outside = 8
  };

  /// Names `id`; a later name for the same id replaces the earlier one.
  void set(token_id id, std::string text, std::uint8_t flags);
  void set_bytes(token_id id, std::string bytes);
  /// Builds the index by spelling; the lowest id of equal spellings wins.
  void freeze();

  std::int32_t size() const { return static_cast<std::int32_t>(texts_.size()); }
  bool has(token_id id) const { return (flags(id) & present) != 0; }
  /// 0 for ids out of range.
  std::uint8_t flags(token_id id) const {
    return id >= 0 && id < size() ? flags_[static_cast<std::size_t>(id)] : 0;
  }
  const std::string& text(token_id id) const {
    return texts_[static_cast<std::size_t>(id)];
  }
  const std::string& bytes(token_id id) const {
    return bytes_[static_cast<std::size_t>(id)];
  }
  std::optional<token_id> find(std::string_view text) const;
  /// Bytes of the longest spelling.
  std::size_t longest() const { return longest_; }

 private:
  std::vector<std::string> texts_;
  std::vector<std::string> bytes_;
  std::vector<std::uint8_t> flags_;
  std::unordered_map<std::string_view, token_id> index_;
  std::size_t longest_ = 0;
};

/// The byte that byte-level vocabularies write as this character, or nothing
/// (GPT-2's table: printable bytes stand for themselves, the other 68 for
/// U+0100 and on).
std::optional<unsigned char> byte_of_char(char32_t code);
/// The character, in UTF-8, that stands for a byte.
std::string_view char_of_byte(unsigned char byte);
/// A byte-level spelling as bytes; spellings with characters outside the table
/// stand for themselves.
std::string unmap_bytes(std::string_view text);
/// The byte of a "<0xHH>" spelling.
std::optional<unsigned char> byte_token(std::string_view text);

}  // namespace vouch::engine
