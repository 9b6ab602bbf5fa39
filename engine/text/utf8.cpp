#include "engine/text/utf8.hpp"

#include <simdjson.h>

#include "engine/text/utf8_stream.hpp"

namespace vouch::engine {

utf8_step next_utf8(std::string_view text, std::size_t position) {
  const auto byte = [&](std::size_t i) {
    return static_cast<unsigned char>(text[position + i]);
  };
  const unsigned char lead = byte(0);
  if (lead < 0x80) return {utf8_step::kind::character, lead, 1};
  if (lead < 0xC2 || lead > 0xF4) return {utf8_step::kind::invalid, 0, 1};

  const std::size_t length = lead < 0xE0 ? 2 : lead < 0xF0 ? 3 : 4;
  // The second byte's range excludes overlong forms, surrogates and what lies
  // past U+10FFFF.
  unsigned char low = 0x80;
  unsigned char high = 0xBF;
  if (lead == 0xE0) low = 0xA0;
  if (lead == 0xED) high = 0x9F;
  if (lead == 0xF0) low = 0x90;
  if (lead == 0xF4) high = 0x8F;

  char32_t code = lead & (0xFF >> (length + 1));
  for (std::size_t i = 1; i < length; ++i) {
    if (position + i == text.size()) {
      return {utf8_step::kind::incomplete, 0, i};
    }
    if (byte(i) < low || byte(i) > high) {
      return {utf8_step::kind::invalid, 0, i};
    }
    code = code << 6 | (byte(i) & 0x3F);
    low = 0x80;
    high = 0xBF;
  }
  return {utf8_step::kind::character, code, length};
}

void append_utf8(std::string& out, char32_t code) {
  const auto put = [&out](char32_t byte) {
    out.push_back(static_cast<char>(byte));
  };
  if (code < 0x80) {
    put(code);
  } else if (code < 0x800) {
    put(0xC0 | code >> 6);
    put(0x80 | (code & 0x3F));
  } else if (code < 0x10000) {
    put(0xE0 | code >> 12);
    put(0x80 | (code >> 6 & 0x3F));
    put(0x80 | (code & 0x3F));
  } else {
    put(0xF0 | code >> 18);
    put(0x80 | (code >> 12 & 0x3F));
    put(0x80 | (code >> 6 & 0x3F));
    put(0x80 | (code & 0x3F));
  }
}

bool is_valid_utf8(std::string_view text) {
  return simdjson::validate_utf8(text.data(), text.size());
}

std::string replace_invalid_utf8(std::string_view text) {
  utf8_stream stream;
  std::string out = stream.push(text);
  out += stream.finish();
  return out;
}

}  // namespace vouch::engine
