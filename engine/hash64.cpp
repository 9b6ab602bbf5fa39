#include "engine/hash64.hpp"

#include <array>
#include <bit>
#include <cstring>

namespace vouch::engine {

namespace {

// The specification's primes.
constexpr std::uint64_t prime_1 = 0x9E3779B185EBCA87U;
constexpr std::uint64_t prime_2 = 0xC2B2AE3D27D4EB4FU;
constexpr std::uint64_t prime_3 = 0x165667B19E3779F9U;
constexpr std::uint64_t prime_4 = 0x85EBCA77C2B2AE63U;
constexpr std::uint64_t prime_5 = 0x27D4EB2F165667C5U;

template <class T>
std::uint64_t load(const std::byte* at) {
  T value;
  std::memcpy(&value, at, sizeof value);
  return value;
}

std::uint64_t round(std::uint64_t lane, std::uint64_t input) {
  return std::rotl(lane + input * prime_2, 31) * prime_1;
}

}  // namespace

std::uint64_t hash64(std::span<const std::byte> bytes, std::uint64_t seed) {
  const std::byte* at = bytes.data();
  const std::byte* const end = at + bytes.size();
  const auto left = [&] { return static_cast<std::size_t>(end - at); };
  std::uint64_t hash = seed + prime_5;
  if (bytes.size() >= 32) {
    std::array<std::uint64_t, 4> lanes{seed + prime_1 + prime_2, seed + prime_2,
                                       seed, seed - prime_1};
    for (; left() >= 32; at += 32) {
      for (std::size_t i = 0; i < 4; ++i) {
        lanes[i] = round(lanes[i], load<std::uint64_t>(at + 8 * i));
      }
    }
    hash = std::rotl(lanes[0], 1) + std::rotl(lanes[1], 7) +
           std::rotl(lanes[2], 12) + std::rotl(lanes[3], 18);
    for (const auto lane : lanes) {
      hash = (hash ^ round(0, lane)) * prime_1 + prime_4;
    }
  }
  hash += bytes.size();
  for (; left() >= 8; at += 8) {
    hash ^= round(0, load<std::uint64_t>(at));
    hash = std::rotl(hash, 27) * prime_1 + prime_4;
  }
  if (left() >= 4) {
    hash ^= load<std::uint32_t>(at) * prime_1;
    hash = std::rotl(hash, 23) * prime_2 + prime_3;
    at += 4;
  }
  for (; at != end; ++at) {
    hash ^= load<std::uint8_t>(at) * prime_5;
    hash = std::rotl(hash, 11) * prime_1;
  }
  hash = (hash ^ (hash >> 33)) * prime_2;
  hash = (hash ^ (hash >> 29)) * prime_3;
  return hash ^ (hash >> 32);
}

}  // namespace vouch::engine
