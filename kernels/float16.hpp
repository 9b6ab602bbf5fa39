#pragma once

#include <bit>
#include <cstdint>

namespace vouch::kernels {

/// Exact value of an IEEE binary16 number given by its bits; a signalling NaN
/// comes out quiet, as the hardware's conversion has it.
inline float f16_to_f32(std::uint16_t half) {
  const std::uint32_t sign = static_cast<std::uint32_t>(half & 0x8000U) << 16;
  const std::uint32_t exponent = (half >> 10) & 0x1FU;
  const std::uint32_t mantissa = half & 0x3FFU;
  if (exponent == 0x1FU) {
    const std::uint32_t quiet = mantissa != 0 ? 0x400000U : 0U;
    return std::bit_cast<float>(sign | 0x7F800000U | (mantissa << 13) | quiet);
  }
  if (exponent == 0) {
    // Subnormal: mantissa * 2^-24 is exact in binary32.
    const float value = static_cast<float>(mantissa) * 0x1.0p-24F;
    return std::bit_cast<float>(std::bit_cast<std::uint32_t>(value) | sign);
  }
  return std::bit_cast<float>(sign | ((exponent + 112U) << 23) |
                              (mantissa << 13));
}

/// Nearest binary16 number, ties to even; overflow gives infinity, a NaN a
/// quiet NaN with the upper bits of its payload.
inline std::uint16_t f32_to_f16(float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  const auto sign = static_cast<std::uint16_t>((bits >> 16) & 0x8000U);
  const std::uint32_t magnitude = bits & 0x7FFFFFFFU;
  if (magnitude > 0x7F800000U) {
    return static_cast<std::uint16_t>(sign | 0x7E00U |
                                      ((magnitude >> 13) & 0x3FFU));
  }
  if (magnitude >= 0x47800000U) {  // 2^16 and above, infinity too
    return static_cast<std::uint16_t>(sign | 0x7C00U);
  }
  if (magnitude < 0x38800000U) {  // below 2^-14: a subnormal or zero
    // Adding 0.5 leaves the value rounded to 2^-24 in the low mantissa bits.
    const float shifted = std::bit_cast<float>(magnitude) + 0.5F;
    return static_cast<std::uint16_t>(
        sign | (std::bit_cast<std::uint32_t>(shifted) - 0x3F000000U));
  }
  const std::uint32_t odd = (magnitude >> 13) & 1U;
  return static_cast<std::uint16_t>(
      sign | ((magnitude - 0x38000000U + 0xFFFU + odd) >> 13));
}

/// A bfloat16 number is the upper half of a binary32 one.
inline float bf16_to_f32(std::uint16_t upper) {
  return std::bit_cast<float>(static_cast<std::uint32_t>(upper) << 16);
}

/// Nearest bfloat16 number, ties to even; NaNs stay NaNs (made quiet).
inline std::uint16_t f32_to_bf16(float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  if ((bits & 0x7FFFFFFFU) > 0x7F800000U) {
    return static_cast<std::uint16_t>((bits >> 16) | 0x40U);
  }
  return static_cast<std::uint16_t>((bits + 0x7FFFU + ((bits >> 16) & 1U)) >>
                                    16);
}

}  // namespace vouch::kernels
