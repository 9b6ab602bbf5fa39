#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "engine/chat_template/text.hpp"

// What Python's str knows about Unicode, as far as templates use it. The
// tables are made by tools/golden/make_unicode_tables.py.
namespace vouch::engine::jinja {

/// Decodes the code point at `offset` of valid UTF-8 and advances `offset`.
char32_t next_code_point(std::string_view bytes, std::size_t& offset);
void append_code_point(std::string& out, char32_t c);
std::size_t code_point_count(std::string_view bytes);
/// The byte offset of code point `index`; the size when there are fewer.
std::size_t byte_offset(std::string_view bytes, std::size_t index);
/// std::string_view::find in linear time.
std::size_t find_bytes(std::string_view bytes, std::string_view wanted,
                       std::size_t from);

/// str.isspace, str.isprintable, and an approximation of str.isalpha: the
/// letters that have case, and everything printable beyond Latin-1.
bool is_space(char32_t c);
bool is_printable(char32_t c);
bool is_letter(char32_t c);
bool is_upper(char32_t c);
bool is_lower(char32_t c);

/// str.upper, str.lower, str.title, str.capitalize: full mappings ("ß"
/// becomes "SS"), without the context rule for the final sigma. Origin is
/// kept.
text to_upper(const text& s);
text to_lower(const text& s);
text to_title(const text& s);
text to_capitalized(const text& s);
/// Jinja's title filter: words are cut at white space, "-" and brackets only.
text to_filter_title(const text& s);

/// The bytes [begin, end) left by stripping white space, or any code point of
/// `chars`, from the chosen ends.
struct byte_range {
  std::size_t begin;
  std::size_t end;
};
byte_range strip(std::string_view bytes, bool left, bool right);
byte_range strip(std::string_view bytes, std::string_view chars, bool left,
                 bool right);

}  // namespace vouch::engine::jinja
