#pragma once

#include <bit>
#include <cstdint>

namespace vouch::engine::fixed_math {

/// Natural logarithm of a positive, normal double, from the four operations
/// alone, so that a pick does not depend on the C library. Relative error of
/// about 2^-51.
inline double log(double x) {
  auto bits = std::bit_cast<std::uint64_t>(x);
  // x = 2^e * m with m in [sqrt(1/2), sqrt(2)).
  constexpr std::uint64_t sqrt_half = 0x3FE6A09E667F3BCDULL;
  const std::uint64_t shifted = bits - sqrt_half;
  const auto e = static_cast<std::int64_t>(shifted) >> 52;
  bits -= static_cast<std::uint64_t>(e) << 52;
  const double m = std::bit_cast<double>(bits);
  // log m = 2 artanh((m - 1) / (m + 1)), whose argument is at most 0.172.
  const double f = (m - 1.0) / (m + 1.0);
  const double s = f * f;
  double p = 1.0 / 23.0;
  for (int k = 21; k >= 1; k -= 2) {
    p = p * s + 1.0 / k;
  }
  // ln 2 in two parts: the product with e is exact in the first.
  const double scale = static_cast<double>(e);
  return scale * 0.693147180369123816490 +
         (2.0 * f * p + scale * 1.90821492927058770002e-10);
}

}  // namespace vouch::engine::fixed_math
