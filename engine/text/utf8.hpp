#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace vouch::engine {

/// What stands at one position of a byte string (Unicode 15, table 3-7).
struct utf8_step {
  enum class kind {
    /// A whole character.
    character,
    /// The longest prefix of a character that its next byte contradicts, or a
    /// byte that begins none: what one U+FFFD replaces.
    invalid,
    /// The text ends inside a character that could still be valid.
    incomplete
  };
  kind what = kind::character;
  char32_t code = 0;
  std::size_t bytes = 1;
};

/// Looks at text[position], which must exist.
utf8_step next_utf8(std::string_view text, std::size_t position);

/// Reads a character of text known to be valid; `length` is set to 1..4.
inline char32_t valid_utf8_at(const char* at, std::size_t& length) {
  const auto byte = [at](int i) {
    return static_cast<char32_t>(static_cast<unsigned char>(at[i]));
  };
  const char32_t lead = byte(0);
  if (lead < 0x80) {
    length = 1;
    return lead;
  }
  if (lead < 0xE0) {
    length = 2;
    return (lead & 0x1F) << 6 | (byte(1) & 0x3F);
  }
  if (lead < 0xF0) {
    length = 3;
    return (lead & 0x0F) << 12 | (byte(1) & 0x3F) << 6 | (byte(2) & 0x3F);
  }
  length = 4;
  return (lead & 0x07) << 18 | (byte(1) & 0x3F) << 12 | (byte(2) & 0x3F) << 6 |
         (byte(3) & 0x3F);
}

/// Appends a scalar value (not a surrogate, at most U+10FFFF).
void append_utf8(std::string& out, char32_t code);

bool is_valid_utf8(std::string_view text);

/// The text with every maximal invalid part replaced by one U+FFFD.
std::string replace_invalid_utf8(std::string_view text);

}  // namespace vouch::engine
