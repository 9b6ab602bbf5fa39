#pragma once

#include <cstdint>

#include "kernels/quant_block.hpp"

namespace vouch::kernels {

/// One block of 32 activations in 8 bits: x[i] is about scale * q[i], with
/// scale = max |x| / 127 and q rounded to nearest, ties to even. A block whose
/// largest magnitude is below 1e-30 becomes zeros; one that holds an infinity
/// or a NaN gets a NaN scale, so that what it touches is a NaN.
struct activation_block {
  float scale;
  /// scale * (sum of q), for weights that have a minimum.
  float scaled_sum;
  /// Sums of q[0..15] and q[16..31].
  std::int32_t sums[2];
  std::int8_t q[quant_block_elements];
};

namespace reference {
activation_block quantize_block(const float* x);
}  // namespace reference

}  // namespace vouch::kernels
