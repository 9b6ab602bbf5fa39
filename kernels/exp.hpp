#pragma once

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>

namespace vouch::kernels {

/// This project's exponential: x = n ln 2 + r with n = round(x / ln 2), and
/// exp(r) by its Taylor polynomial of degree 7 in Horner form, every step one
/// fused multiply-add. Below 1.5 ulp on the whole range; exp(0) is exactly 1;
/// below `exp_lowest` (where the result would be subnormal) it is 0.
/// `cpu/vec-inl.hpp` holds the vector form of exactly these steps.
inline constexpr float exp_lowest = -87.33F;
inline constexpr float exp_highest = 88.72F;
inline constexpr float exp_log2e = 0x1.715476p+0F;
inline constexpr float exp_ln2_high = 0x1.62e400p-1F;
inline constexpr float exp_ln2_low = 0x1.7f7d1cp-20F;
/// 1/7!, 1/6!, ..., 1/2!; the last two coefficients are 1.
inline constexpr float exp_coefficients[] = {
    1.0F / 5040, 1.0F / 720, 1.0F / 120, 1.0F / 24, 1.0F / 6, 1.0F / 2};

inline float exp_f32(float x) {
  if (!(x >= exp_lowest)) {  // too small, or a NaN
    return std::isnan(x) ? x : 0.0F;
  }
  if (x > exp_highest) return std::numeric_limits<float>::infinity();
  const float n = std::nearbyint(x * exp_log2e);
  float r = std::fma(-n, exp_ln2_high, x);
  r = std::fma(-n, exp_ln2_low, r);
  float p = exp_coefficients[0];
  for (int i = 1; i < 6; ++i) p = std::fma(p, r, exp_coefficients[i]);
  p = std::fma(p, r, 1.0F);
  p = std::fma(p, r, 1.0F);
  // Two factors, as 2^128 is no float.
  const auto k = static_cast<std::int32_t>(n);
  const std::int32_t half = k >> 1;
  const auto power = [](std::int32_t e) {
    return std::bit_cast<float>((e + 127) << 23);
  };
  return p * power(half) * power(k - half);
}

}  // namespace vouch::kernels
