#include "engine/checkpoint/content_hash.hpp"

#include <algorithm>

namespace vouch::engine {

namespace {

constexpr std::size_t samples = 256;
constexpr std::size_t sample_bytes = 4096;

}  // namespace

void content_hash::add(std::span<const std::byte> bytes) {
  for (const auto byte : bytes) {
    state_ ^= static_cast<std::uint64_t>(byte);
    state_ *= 0x100000001B3U;
  }
}

void content_hash::add(std::string_view text) {
  add(std::as_bytes(std::span{text.data(), text.size()}));
}

void content_hash::add(std::uint64_t number) {
  add(std::as_bytes(std::span{&number, 1}));
}

void content_hash::add_file(const mapped_file& file, std::size_t whole) {
  const auto bytes = file.bytes();
  add(std::uint64_t{bytes.size()});
  const auto head = std::min(whole, bytes.size());
  add(bytes.first(head));
  const auto rest = bytes.subspan(head);
  if (rest.size() <= samples * sample_bytes) {
    add(rest);
    return;
  }
  const auto last = rest.size() - sample_bytes;
  for (std::size_t i = 0; i < samples; ++i) {
    add(rest.subspan(last / (samples - 1) * i, sample_bytes));
  }
  add(rest.subspan(last));
}

std::string content_hash::text() const {
  constexpr std::string_view digits = "0123456789abcdef";
  std::string result;
  for (int shift = 60; shift >= 0; shift -= 4) {
    result += digits[(state_ >> static_cast<unsigned>(shift)) & 15U];
  }
  return result;
}

}  // namespace vouch::engine
