#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace vouch::engine {

/// What tokenizers ask about a character: its general category's first letter,
/// with White_Space and connector punctuation apart.
enum class char_class : std::uint8_t {
  other = 0,
  /// \p{L}
  letter = 1,
  /// \p{N}
  number = 2,
  /// \p{M}
  mark = 3,
  /// \s: the property White_Space
  space = 4,
  /// \p{P} without \p{Pc}
  punctuation = 5,
  /// \p{Pc}
  connector = 6
};

namespace unicode {

/// One byte for each code point: char_class in bits 0-2, bit 3 where Unicode
/// normalisation form C may change the character or what stands before it.
/// Unicode 14.0.
const std::uint8_t* properties();

inline char_class class_of(char32_t code) {
  return static_cast<char_class>(properties()[code] & 7);
}
inline bool nfc_may_change(char32_t code) {
  return (properties()[code] & 8) != 0;
}
/// \w: letters, marks, numbers, connector punctuation.
bool is_word(char32_t code);

/// One-character lower case; 0x130 (I with a dot) is left to the caller.
char32_t to_lower(char32_t code);

std::uint8_t combining_class(char32_t code);
/// Splits a character into its canonical pair (second 0: a single one); false
/// where it has none. Hangul is done by arithmetic elsewhere.
bool decompose(char32_t code, char32_t& first, char32_t& second);
/// The primary composite of a pair; 0 when there is none.
char32_t compose(char32_t first, char32_t second);

}  // namespace unicode
}  // namespace vouch::engine
