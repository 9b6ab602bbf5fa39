// y = W x for quantised W and 8-bit activations. A block of weights is expanded
// once and used for up to 8 rows; each row's own sequence of operations is the
// same whatever their number (reference/matmul.cpp spells it out).
#include <hwy/cache_control.h>

#include "kernels/cpu/tile_range.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/matmul_quantized.cpp"
#include <hwy/foreach_target.h>

#include "kernels/cpu/dot-inl.hpp"

HWY_BEFORE_NAMESPACE();
#include "kernels/cpu/vnni-inl.hpp"
namespace vouch::kernels {
namespace HWY_NAMESPACE {

/// log2 of what has to be subtracted from q, -1 for nothing.
template <int bits, scale_kind kind>
constexpr int zero_shift() {
  if (kind == scale_kind::super_halves) return 5;
  if (kind != scale_kind::symmetric) return -1;
  if (bits == 8) return eight_bits_are_offset ? 7 : -1;
  return bits - 1;
}

/// The integer dot product of `count` groups less zero * (sum of activations),
/// as floats: register i of it.
template <int bits, scale_kind kind, int first, int count>
HWY_INLINE f32_register block_dot(const u8x64 (&w)[8],
                                  const activation_block& x, int i) {
  i32_register d = dot<bits, first, count>(w, x.q, i);
  constexpr int shift = zero_shift<bits, kind>();
  if constexpr (shift >= 0) {
    const std::int32_t sum =
        count == 8 ? x.sums[0] + x.sums[1] : x.sums[first / 4];
    d = subtract(d, splat(sum * (1 << shift)));
  }
  return as_float(d);
}

/// sum + (d * scale) * dot, or sum + d * (scale * dot).
template <bool in_turn>
HWY_INLINE f32_register add_product(f32_register d, const activation_block& x,
                                    f32_register dot, f32_register sum) {
  if constexpr (in_turn) {
    return multiply_add(d, multiply(dot, splat(x.scale)), sum);
  } else {
    return multiply_add(multiply(d, splat(x.scale)), dot, sum);
  }
}

/// How far ahead of the block at hand weights are asked for: memory answers
/// later than the hardware's own prefetcher, which stops at every page, asks.
constexpr int prefetch_bytes = 8192;

/// A target of many wide registers keeps the weights of a block in them for
/// several rows; one of few reads them from the first-level cache for each row
/// and would, unrolled, only save and restore registers.
constexpr int rows_unrolled = parts == 1 ? 8 : 1;

/// One tile times `rows` rows. `prefetch`: the weights come from memory, not
/// from the cache that an earlier pass left them in.
template <int bits, scale_kind kind, int rows, bool in_turn>
void tile(const std::byte* weights, std::int64_t blocks,
          const activation_block* x, float* y, std::int64_t y_stride,
          std::int64_t outputs, bool prefetch) {
  const auto* p = reinterpret_cast<const std::uint8_t*>(weights);
  f32x16 acc[rows];
  for (int r = 0; r < rows; ++r) acc[r] = zero();
  f32x16 d = zero();
  f32x16 m = zero();
  for (std::int64_t b = 0; b < blocks; ++b) {
    if constexpr (header_bytes(kind) != 0) {
      if (b % super_blocks == 0) {
        const auto* header = reinterpret_cast<const std::uint16_t*>(p);
        d = load_f16(header);
        if constexpr (kind == scale_kind::super_affine) {
          m = load_f16(header + tile_outputs);
        }
        p += header_bytes(kind);
      }
    }
    if (prefetch) {
      constexpr auto bytes = value_bytes(bits) + scale_bytes(kind);
      HWY_UNROLL(10)
      for (int i = 0; i < bytes; i += 64) {
        hwy::Prefetch(p + prefetch_bytes + i);
      }
    }
    u8x64 w[8];
    expand<bits>(p, w);
    const std::uint8_t* scales = p + value_bytes(bits);
    p = scales + scale_bytes(kind);
    if constexpr (kind == scale_kind::super_halves) {
      const auto* s = reinterpret_cast<const std::int8_t*>(scales);
      const f32x16 d0 = d * load_bytes(s);
      const f32x16 d1 = d * load_bytes(s + tile_outputs);
      HWY_UNROLL(rows_unrolled)
      for (int r = 0; r < rows; ++r) {
        const activation_block& a = x[r * blocks + b];
        HWY_UNROLL(4)
        for (int i = 0; i < parts; ++i) {
          f32_register& sum = part(acc[r], i);
          sum = add_product<in_turn>(part(d0, i), a,
                                     block_dot<bits, kind, 0, 4>(w, a, i), sum);
          sum = add_product<in_turn>(part(d1, i), a,
                                     block_dot<bits, kind, 4, 4>(w, a, i), sum);
        }
      }
    } else {
      f32x16 block_d = d;
      f32x16 block_m = m;
      if constexpr (kind == scale_kind::super_affine) {
        block_d = d * load_bytes(scales);
        block_m = negate(m * load_bytes(scales + tile_outputs));
      } else {
        const auto* half = reinterpret_cast<const std::uint16_t*>(scales);
        block_d = load_f16(half);
        if constexpr (kind == scale_kind::affine) {
          block_m = load_f16(half + tile_outputs);
        }
      }
      HWY_UNROLL(rows_unrolled)
      for (int r = 0; r < rows; ++r) {
        const activation_block& a = x[r * blocks + b];
        HWY_UNROLL(4)
        for (int i = 0; i < parts; ++i) {
          f32_register& sum = part(acc[r], i);
          sum = add_product<in_turn>(part(block_d, i), a,
                                     block_dot<bits, kind, 0, 8>(w, a, i), sum);
          if constexpr (kind != scale_kind::symmetric) {
            sum = multiply_add(part(block_m, i), splat(a.scaled_sum), sum);
          }
        }
      }
    }
  }
  for (int r = 0; r < rows; ++r) {
    if (outputs == tile_outputs) {
      store(acc[r], y + r * y_stride);
    } else {
      store_n(acc[r], y + r * y_stride, outputs);
    }
  }
}

template <int bits, scale_kind kind, bool in_turn>
void tiles(const tile_range& range) {
  const std::int64_t blocks = range.w.in / quant_block_elements;
  for (std::int64_t t = range.first_tile; t < range.first_tile + range.tiles;
       ++t) {
    const std::byte* weights = range.w.tile(t);
    const std::int64_t outputs = range.outputs(t);
    std::int64_t r = range.first_row;
    const std::int64_t end = r + range.rows;
    const auto run = [&](auto kernel, std::int64_t rows) {
      kernel(weights, blocks, range.x.blocks.data() + r * blocks,
             range.y + r * range.y_stride + t * tile_outputs, range.y_stride,
             outputs, r == range.first_row);
      r += rows;
    };
    // The emulated lanes gain nothing.
    constexpr int most = VOUCH_EMULATED ? 1 : 8;
    while (end - r >= most) run(tile<bits, kind, most, in_turn>, most);
    if constexpr (most > 1) {
      if (end - r >= 4) run(tile<bits, kind, 4, in_turn>, 4);
      if (end - r == 3) run(tile<bits, kind, 3, in_turn>, 3);
      if (end - r == 2) run(tile<bits, kind, 2, in_turn>, 2);
    }
    if (end - r == 1) run(tile<bits, kind, 1, in_turn>, 1);
  }
}

template <int bits, scale_kind kind>
void tiles(const tile_range& range) {
  range.x.in_turn ? tiles<bits, kind, true>(range)
                  : tiles<bits, kind, false>(range);
}

void all_quantized_tiles(const tile_range& range) {
  switch (range.w.type) {
    case dtype::q8_0:
      return tiles<8, scale_kind::symmetric>(range);
    case dtype::q4_0:
      return tiles<4, scale_kind::symmetric>(range);
    case dtype::q4_1:
      return tiles<4, scale_kind::affine>(range);
    case dtype::q5_0:
      return tiles<5, scale_kind::symmetric>(range);
    case dtype::q5_1:
      return tiles<5, scale_kind::affine>(range);
    case dtype::q4_k:
      return tiles<4, scale_kind::super_affine>(range);
    case dtype::q5_k:
      return tiles<5, scale_kind::super_affine>(range);
    case dtype::q6_k:
      return tiles<6, scale_kind::super_halves>(range);
    default:
      return;
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace vouch::kernels
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace vouch::kernels {

HWY_EXPORT(all_quantized_tiles);

void quantized_tiles(const tile_range& range) {
  HWY_DYNAMIC_DISPATCH(all_quantized_tiles)(range);
}

}  // namespace vouch::kernels
#endif  // HWY_ONCE
