#include "http/text.hpp"

#include <random>

#include "engine/text/utf8_stream.hpp"

namespace vouch::http {

std::string valid_utf8(std::string_view bytes) {
  engine::utf8_stream stream;
  auto text = stream.push(bytes);
  text += stream.finish();
  return text;
}

std::string shortened(std::string_view text, std::size_t limit) {
  if (text.size() <= limit) return std::string{text};
  // A continuation byte (10xxxxxx) belongs to the character before it.
  while (limit > 0 && (static_cast<unsigned char>(text[limit]) & 0xC0) == 0x80)
    --limit;
  return std::string{text.substr(0, limit)} + "...";
}

std::size_t characters(std::string_view text) {
  std::size_t count = 0;
  for (const char c : text)
    count += (static_cast<unsigned char>(c) & 0xC0) != 0x80;
  return count;
}

std::string random_hex(std::size_t count) {
  thread_local std::mt19937_64 engine = [] {
    std::random_device device;
    std::seed_seq seed{device(), device(), device(), device()};
    return std::mt19937_64{seed};
  }();
  std::string digits;
  digits.reserve(count + 16);
  while (digits.size() < count) {
    auto word = engine();
    for (int i = 0; i < 16; ++i, word >>= 4)
      digits += "0123456789abcdef"[word & 15];
  }
  digits.resize(count);
  return digits;
}

bool equal_constant_time(std::string_view a, std::string_view b) {
  std::size_t difference = a.size() ^ b.size();
  for (std::size_t i = 0; i < a.size(); ++i) {
    const char other = b.empty() ? '\0' : b[i % b.size()];
    difference |= static_cast<unsigned char>(a[i] ^ other);
  }
  return difference == 0;
}

}  // namespace vouch::http
