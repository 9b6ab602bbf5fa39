#pragma once

#include <array>
#include <cstdint>

#include "engine/types.hpp"

namespace vouch::engine {

/// Philox 4x32-10: a keyed bijection of 128-bit counters whose outputs pass as
/// independent random bits. Source: Salmon, Moraes, Dror, Shaw, "Parallel
/// random numbers: as easy as 1, 2, 3" (SC11).
std::array<std::uint32_t, 4> philox(std::array<std::uint32_t, 4> counter,
                                    std::array<std::uint32_t, 2> key);

/// The noise of one row's pick: a function of (seed, choice, position, token)
/// and of nothing else. A drafter that draws with the target's noise agrees
/// with it more often.
class row_noise {
 public:
  row_noise(std::uint64_t seed, std::uint32_t choice, std::int64_t position);

  /// 32 random bits of `token`: word token % 4 of the block that counts
  /// (token / 4, position, choice) under the seed as key.
  std::uint32_t bits(token_id token) const;
  /// Bits of tokens 4 * block ... 4 * block + 31, eight blocks at once.
  void bits_of_blocks(std::uint32_t block, std::uint32_t* out) const;

  /// Gumbel noise from random bits: -log(-log(u)), u = (bits + 1/2) / 2^32, in
  /// (-3.2, 22.9).
  static double gumbel(std::uint32_t bits);

 private:
  std::array<std::uint32_t, 4> counter_;
  std::array<std::uint32_t, 2> key_;
};

}  // namespace vouch::engine
