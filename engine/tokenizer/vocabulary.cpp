#include "engine/tokenizer/vocabulary.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <utility>

#include "engine/text/utf8.hpp"

namespace vouch::engine {

void vocabulary::set(token_id id, std::string text, std::uint8_t flags) {
  const auto at = static_cast<std::size_t>(id);
  if (at >= texts_.size()) {
    texts_.resize(at + 1);
    bytes_.resize(at + 1);
    flags_.resize(at + 1);
  }
  texts_[at] = std::move(text);
  flags_[at] = static_cast<std::uint8_t>(flags | present);
}

void vocabulary::set_bytes(token_id id, std::string bytes) {
  bytes_[static_cast<std::size_t>(id)] = std::move(bytes);
}

void vocabulary::freeze() {
  index_.clear();
  index_.reserve(texts_.size());
  longest_ = 0;
  for (token_id id = 0; id < size(); ++id) {
    if (!has(id)) continue;
    index_.emplace(text(id), id);
    longest_ = std::max(longest_, text(id).size());
  }
}

std::optional<token_id> vocabulary::find(std::string_view text) const {
  const auto found = index_.find(text);
  if (found == index_.end()) return std::nullopt;
  return found->second;
}

namespace {

struct byte_table {
  std::array<std::string, 256> chars;
  /// By code point, -1 outside the table.
  std::array<int, 0x144> bytes{};

  byte_table() {
    bytes.fill(-1);
    char32_t next = 0x100;
    for (int b = 0; b < 256; ++b) {
      const bool printable =
          (b >= 33 && b <= 126) || (b >= 161 && b <= 172) || b >= 174;
      const char32_t code = printable ? static_cast<char32_t>(b) : next++;
      append_utf8(chars[static_cast<std::size_t>(b)], code);
      bytes[code] = b;
    }
  }
};

const byte_table& table() {
  static const byte_table instance;
  return instance;
}

}  // namespace

std::optional<unsigned char> byte_of_char(char32_t code) {
  if (code >= table().bytes.size() || table().bytes[code] < 0) {
    return std::nullopt;
  }
  return static_cast<unsigned char>(table().bytes[code]);
}

std::string_view char_of_byte(unsigned char byte) {
  return table().chars[byte];
}

std::string unmap_bytes(std::string_view text) {
  std::string out;
  for (std::size_t at = 0, length = 0; at < text.size(); at += length) {
    const char32_t code = valid_utf8_at(text.data() + at, length);
    const auto byte = byte_of_char(code);
    if (!byte) return std::string{text};
    out.push_back(static_cast<char>(*byte));
  }
  return out;
}

std::optional<unsigned char> byte_token(std::string_view text) {
  if (text.size() != 6 || text.substr(0, 3) != "<0x" || text[5] != '>') {
    return std::nullopt;
  }
  unsigned value = 0;
  const auto end = std::from_chars(text.data() + 3, text.data() + 5, value, 16);
  if (end.ec != std::errc{} || end.ptr != text.data() + 5) return std::nullopt;
  return static_cast<unsigned char>(value);
}

}  // namespace vouch::engine
