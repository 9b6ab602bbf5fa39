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

/// Of a block, lane by lane; as integers: NaN above infinity above the finite
/// magnitudes.
HWY_INLINE i32x16 magnitudes(const float* x) {
  const i32x16 magnitude_bits = set1(std::int32_t{0x7FFFFFFF});
  return max(bits(load(x)) & magnitude_bits,
             bits(load(x + lane_count)) & magnitude_bits);
}

/// Half a block a vector.
HWY_INLINE void round_block(const float* x, float inverse,
                            activation_block* out) {
  for (int h = 0; h < 2; ++h) {
    const i32x16 q =
        bits(load(x + lane_count * h) * set1(inverse) + set1(round_magic)) -
        bits(set1(round_magic));
    store_i8(q, out->q + lane_count * h);
    out->sums[h] = sum(q);
  }
}

/// reference::quantize_block.
HWY_INLINE void quantize_block(const float* x, activation_block* out) {
  const std::int32_t top = largest(magnitudes(x));
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
  round_block(x, 127.0F / magnitude, out);
  out->scaled_sum =
      out->scale * static_cast<float>(out->sums[0] + out->sums[1]);
}

void all_quantize_blocks(const float* x, std::int64_t blocks,
                         activation_block* out) {
  for (std::int64_t b = 0; b < blocks; ++b) {
    quantize_block(x + b * quant_block_elements, out + b);
  }
}

/// reference::quantize_wide_blocks, of blocks that share a scale.
HWY_INLINE void quantize_wide(const float* x, std::int64_t blocks,
                              activation_block* out) {
  i32x16 tops = magnitudes(x);
  for (std::int64_t b = 1; b < blocks; ++b) {
    tops = max(tops, magnitudes(x + b * quant_block_elements));
  }
  const std::int32_t top = largest(tops);
  const auto magnitude = std::bit_cast<float>(top);
  for (std::int64_t b = 0; b < blocks; ++b) {
    if (top >= 0x7F800000 || magnitude < 1e-30F) {
      out[b] = {};
      if (top >= 0x7F800000) {
        out[b].scale = std::numeric_limits<float>::quiet_NaN();
      }
      continue;
    }
    out[b].scale = magnitude / 127.0F;
    round_block(x + b * quant_block_elements, 127.0F / magnitude, out + b);
    out[b].scaled_sum = static_cast<float>(out[b].sums[0] + out[b].sums[1]);
  }
}

void all_quantize_wide_blocks(const float* x, std::int64_t blocks,
                              activation_block* out) {
  for (std::int64_t b = 0; b < blocks; b += wide_blocks) {
    quantize_wide(x + b * quant_block_elements,
                  blocks - b < wide_blocks ? blocks - b : wide_blocks, out + b);
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace vouch::kernels
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace vouch::kernels {

HWY_EXPORT(all_quantize_blocks);
HWY_EXPORT(all_quantize_wide_blocks);

void quantize_blocks(const float* x, std::int64_t blocks,
                     activation_block* out) {
  HWY_DYNAMIC_DISPATCH(all_quantize_blocks)(x, blocks, out);
}

void quantize_wide_blocks(const float* x, std::int64_t blocks,
                          activation_block* out) {
  HWY_DYNAMIC_DISPATCH(all_quantize_wide_blocks)(x, blocks, out);
}

}  // namespace vouch::kernels
#endif  // HWY_ONCE
