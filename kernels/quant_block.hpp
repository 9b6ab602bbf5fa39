#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/dtype.hpp"

namespace vouch::kernels {

/// How the scales of 32 quantised weights q turn into numbers.
enum class scale_kind {
  /// d * (q - zero)
  symmetric,
  /// d * q + m
  affine,
  /// (d * s0) * q - (m * s1)
  super_affine,
  /// (d * s0) * (q - zero) for the first 16, (d * s1) * ... for the last 16
  super_halves,
};

/// What of a quantised `dtype` the matmuls need to know.
struct quant_traits {
  /// Bits of the unsigned q: 4, 5, 6 or 8.
  int bits;
  scale_kind kind;
  /// Subtracted from q.
  int zero;
};

/// Activations are quantised, and weights packed, by blocks of so many inputs.
inline constexpr int quant_block_elements = 32;

bool is_quantized(dtype type);
const quant_traits& quantization(dtype type);

/// 32 consecutive weights of a row, taken apart; d and m are binary16 bits.
struct quant_block {
  std::uint8_t q[quant_block_elements];
  std::uint16_t d;
  std::uint16_t m;
  /// Sub-block scales: s0, s1 (signed bytes where the kind is super_halves).
  std::uint8_t s[2];
};

/// Takes apart block `index` (of 32 elements) of the row at `row`. The layouts
/// are those of the GGUF format's block types.
quant_block unpack_block(dtype type, const std::byte* row, std::int64_t index);

}  // namespace vouch::kernels
