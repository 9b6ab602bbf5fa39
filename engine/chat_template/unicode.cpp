#include "engine/chat_template/unicode.hpp"

#include <algorithm>
#include <string.h>

#include "engine/chat_template/unicode_tables.hpp"

namespace vouch::engine::jinja {
namespace {

char32_t map_case(char32_t c, const case_range* ranges, std::size_t count) {
  const case_range* end = ranges + count;
  const case_range* it = std::lower_bound(
      ranges, end, c,
      [](const case_range& r, char32_t value) { return r.last < value; });
  if (it == end || c < it->first || (c - it->first) % it->stride != 0) return c;
  return static_cast<char32_t>(static_cast<std::int64_t>(c) + it->delta);
}

void append_upper(std::string& out, char32_t c) {
  for (std::size_t i = 0; i < upper_expansion_count; ++i) {
    if (c < 0x80) break;
    if (upper_expansions[i].from != c) continue;
    for (const std::uint32_t to : upper_expansions[i].to) {
      if (to != 0) append_code_point(out, to);
    }
    return;
  }
  append_code_point(out, map_case(c, upper_ranges, upper_range_count));
}

void append_lower(std::string& out, char32_t c) {
  if (c == 0x130) {
    out += "i\xCC\x87";
    return;
  }
  append_code_point(out, map_case(c, lower_ranges, lower_range_count));
}

/// Rewrites every code point; `convert(out, c)` appends what it becomes.
template <class Convert>
text transform(const text& s, Convert convert) {
  text result;
  result.markup = s.markup;
  const std::string_view bytes = s.bytes();
  std::size_t offset = 0;
  std::size_t run_end = 0;
  for (const text::run& run : s.runs()) {
    run_end += run.length;
    std::string piece;
    while (offset < run_end) convert(piece, next_code_point(bytes, offset));
    result.append(piece, run.trusted);
  }
  return result;
}

}  // namespace

char32_t next_code_point(std::string_view bytes, std::size_t& offset) {
  const auto byte = [&](std::size_t i) -> char32_t {
    return i < bytes.size() ? static_cast<unsigned char>(bytes[i]) : 0U;
  };
  const char32_t first = byte(offset);
  const auto tail = [&](std::size_t i) { return byte(offset + i) & 0x3FU; };
  char32_t c = first;
  std::size_t length = 1;
  if (first >= 0xF0) {
    c = (first & 7U) << 18U | tail(1) << 12U | tail(2) << 6U | tail(3);
    length = 4;
  } else if (first >= 0xE0) {
    c = (first & 15U) << 12U | tail(1) << 6U | tail(2);
    length = 3;
  } else if (first >= 0xC0) {
    c = (first & 31U) << 6U | tail(1);
    length = 2;
  }
  offset = std::min(offset + length, bytes.size());
  return c;
}

void append_code_point(std::string& out, char32_t c) {
  const auto add = [&](char32_t byte) { out += static_cast<char>(byte); };
  if (c < 0x80) {
    add(c);
  } else if (c < 0x800) {
    add(0xC0U | c >> 6U);
    add(0x80U | (c & 0x3FU));
  } else if (c < 0x10000) {
    add(0xE0U | c >> 12U);
    add(0x80U | (c >> 6U & 0x3FU));
    add(0x80U | (c & 0x3FU));
  } else {
    add(0xF0U | c >> 18U);
    add(0x80U | (c >> 12U & 0x3FU));
    add(0x80U | (c >> 6U & 0x3FU));
    add(0x80U | (c & 0x3FU));
  }
}

std::size_t code_point_count(std::string_view bytes) {
  return static_cast<std::size_t>(std::count_if(
      bytes.begin(), bytes.end(),
      [](char c) { return (static_cast<unsigned char>(c) & 0xC0U) != 0x80U; }));
}

std::size_t byte_offset(std::string_view bytes, std::size_t index) {
  std::size_t offset = 0;
  while (index > 0 && offset < bytes.size()) {
    next_code_point(bytes, offset);
    --index;
  }
  return offset;
}

std::size_t find_bytes(std::string_view bytes, std::string_view wanted,
                       std::size_t from) {
  if (from > bytes.size()) return std::string_view::npos;
  if (wanted.empty()) return from;
  // memmem is linear, unlike string_view::find.
  const void* at = ::memmem(bytes.data() + from, bytes.size() - from,
                            wanted.data(), wanted.size());
  if (!at) return std::string_view::npos;
  return static_cast<std::size_t>(static_cast<const char*>(at) - bytes.data());
}

bool is_space(char32_t c) {
  return (c >= 0x09 && c <= 0x0D) || (c >= 0x1C && c <= 0x20) || c == 0x85 ||
         c == 0xA0 || c == 0x1680 || (c >= 0x2000 && c <= 0x200A) ||
         c == 0x2028 || c == 0x2029 || c == 0x202F || c == 0x205F ||
         c == 0x3000;
}

bool is_printable(char32_t c) {
  if (c < 0x80) return c >= 0x20 && c != 0x7F;
  const code_range* end = unprintable_ranges + unprintable_range_count;
  const code_range* it = std::lower_bound(
      unprintable_ranges, end, c,
      [](const code_range& r, char32_t value) { return r.last < value; });
  return it == end || c < it->first;
}

bool is_upper(char32_t c) {
  return map_case(c, lower_ranges, lower_range_count) != c || c == 0x130;
}

bool is_lower(char32_t c) {
  return map_case(c, upper_ranges, upper_range_count) != c || c == 0xDF;
}

bool is_letter(char32_t c) {
  return is_upper(c) || is_lower(c) ||
         (c >= 0x100 && is_printable(c) && !(c >= 0x2000 && c < 0x2C00) &&
          !(c >= 0x3000 && c < 0x3041) && c < 0x1F000);
}

text to_upper(const text& s) { return transform(s, append_upper); }
text to_lower(const text& s) { return transform(s, append_lower); }

text to_title(const text& s) {
  bool inside = false;
  return transform(s, [&](std::string& out, char32_t c) {
    inside ? append_lower(out, c) : append_upper(out, c);
    inside = is_upper(c) || is_lower(c);
  });
}

text to_capitalized(const text& s) {
  bool first = true;
  return transform(s, [&](std::string& out, char32_t c) {
    first ? append_upper(out, c) : append_lower(out, c);
    first = false;
  });
}

text to_filter_title(const text& s) {
  bool start = true;
  return transform(s, [&](std::string& out, char32_t c) {
    start ? append_upper(out, c) : append_lower(out, c);
    start =
        is_space(c) || c == '-' || c == '(' || c == '{' || c == '[' || c == '<';
  });
}

namespace {

template <class Predicate>
byte_range strip_if(std::string_view bytes, bool left, bool right,
                    Predicate remove) {
  std::size_t begin = 0;
  std::size_t end = bytes.size();
  while (left && begin < end) {
    std::size_t next = begin;
    if (!remove(next_code_point(bytes, next))) break;
    begin = next;
  }
  while (right && end > begin) {
    std::size_t start = end - 1;
    while (start > begin &&
           (static_cast<unsigned char>(bytes[start]) & 0xC0U) == 0x80U) {
      --start;
    }
    std::size_t next = start;
    if (!remove(next_code_point(bytes, next))) break;
    end = start;
  }
  return {begin, end};
}

}  // namespace

byte_range strip(std::string_view bytes, bool left, bool right) {
  return strip_if(bytes, left, right, is_space);
}

byte_range strip(std::string_view bytes, std::string_view chars, bool left,
                 bool right) {
  std::u32string set;
  for (std::size_t i = 0; i < chars.size();) {
    set += next_code_point(chars, i);
  }
  return strip_if(bytes, left, right, [&](char32_t c) {
    return set.find(c) != std::u32string::npos;
  });
}

}  // namespace vouch::engine::jinja
