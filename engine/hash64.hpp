#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace vouch::engine {

/// XXH64 of `bytes`, as the xxHash specification defines it: 64 bits, four
/// lanes of 8 bytes, some 10 GB/s on one core. For telling rows of logits and
/// of K and V apart; not a defence against somebody who wants a collision.
/// The value is the same on every machine of the same byte order.
std::uint64_t hash64(std::span<const std::byte> bytes, std::uint64_t seed = 0);

}  // namespace vouch::engine
