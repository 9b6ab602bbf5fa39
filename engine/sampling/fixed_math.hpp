#pragma once

#include <bit>
#include <cstdint>

namespace vouch::engine::fixed_math {

/// Below this exp is not computed further: exp(-87), about 1.6e-38, is the
/// smallest value that is no denormal.
inline constexpr float exp_floor = -87.0F;

inline float clamp_exponent(float x) { return x > exp_floor ? x : exp_floor; }

/// exp(x) for exp_floor <= x <= 0 in float32, from multiplications and
/// additions alone, so that a pick does not depend on the C library: the same
/// bytes wherever float32 is IEEE 754. exp(0) is 1; a relative error of about
/// 2^-23. Without a branch, so that a loop over it vectorises (a loop of its
/// own for the clamp: compilers else turn it into a jump).
inline float exp_clamped(float x) {
  // x = n ln 2 + r with |r| <= ln 2 / 2; adding 1.5 * 2^23 rounds to nearest.
  constexpr float round = 12582912.0F;
  const float n = (x * 1.44269504F + round) - round;
  // ln 2 in two parts, the first with few enough bits that n * first is exact.
  const float r = (x - n * 0.693145752F) - n * 1.42860677e-6F;
  // Taylor's series to the seventh power: the rest is below 2^-27.
  float p = 1.98412698e-4F;
  p = p * r + 1.38888889e-3F;
  p = p * r + 8.33333333e-3F;
  p = p * r + 4.16666667e-2F;
  p = p * r + 1.66666667e-1F;
  p = p * r + 0.5F;
  p = p * r + 1.0F;
  p = p * r + 1.0F;
  const auto exponent = static_cast<std::int32_t>(n) + 127;
  return p * std::bit_cast<float>(static_cast<std::uint32_t>(exponent) << 23);
}

/// exp(x) for any x <= 0, never below exp(exp_floor).
inline float exp(float x) { return exp_clamped(clamp_exponent(x)); }

/// Natural logarithm of a positive, normal double, from the four operations
/// alone (see exp). Relative error of about 2^-51.
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
