// The 8-bit form of activations.
#include <bit>
#include <limits>

#include "kernels/cpu/tile_range.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/quantize.cpp"
#include <hwy/foreach_target.h>

#include "kernels/cpu/vec-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace vouch::kernels {
namespace HWY_NAMESPACE {

/// reference::quantize_block, half a block a vector.
HWY_INLINE void quantize_block(const float* x, activation_block* out) {
  const f32x16 halves[2] = {load(x), load(x + lane_count)};
  // As integers: NaN above infinity above the finite magnitudes.
  const i32x16 magnitude_bits = set1(std::int32_t{0x7FFFFFFF});
  const std::int32_t top = largest(
      max(bits(halves[0]) & magnitude_bits, bits(halves[1]) & magnitude_bits));
  const auto magnitude = std::bit_cast<float>(top);
  if (top >= 0x7F800000 || magnitude < 1e-30F) {
    *out = {};
    if (top >= 0x7F800000) {
      out->scale = std::numeric_limits<float>::quiet_NaN();
      out->scaled_sum = out->scale;
    }
    return;
  }
  out->scale = magnitude / 127.0F;
  const f32x16 inverse = set1(127.0F / magnitude);
  for (int h = 0; h < 2; ++h) {
    const i32x16 q =
        bits(halves[h] * inverse + set1(round_magic)) - bits(set1(round_magic));
    store_i8(q, out->q + lane_count * h);
    out->sums[h] = sum(q);
  }
  out->scaled_sum =
      out->scale * static_cast<float>(out->sums[0] + out->sums[1]);
}

void all_quantize_blocks(const float* x, std::int64_t blocks,
                         activation_block* out) {
  for (std::int64_t b = 0; b < blocks; ++b) {
    quantize_block(x + b * quant_block_elements, out + b);
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace vouch::kernels
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace vouch::kernels {

HWY_EXPORT(all_quantize_blocks);

void quantize_blocks(const float* x, std::int64_t blocks,
                     activation_block* out) {
  HWY_DYNAMIC_DISPATCH(all_quantize_blocks)(x, blocks, out);
}

}  // namespace vouch::kernels
#endif  // HWY_ONCE
