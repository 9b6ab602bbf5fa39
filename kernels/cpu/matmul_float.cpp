// y = W x for float32, binary16 and bfloat16 weights.
#include "kernels/cpu/tile_range.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/matmul_float.cpp"
#include <hwy/foreach_target.h>

#include "kernels/cpu/vec-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace vouch::kernels {
namespace HWY_NAMESPACE {

/// Input k of 16 outputs.
template <dtype type>
HWY_INLINE f32x16 load_weights(const std::byte* tile, std::int64_t k) {
  if constexpr (type == dtype::f32) {
    return load(reinterpret_cast<const float*>(tile) + k * tile_outputs);
  } else {
    const auto* p =
        reinterpret_cast<const std::uint16_t*>(tile) + k * tile_outputs;
    return type == dtype::f16 ? load_f16(p) : load_bf16(p);
  }
}

/// Register i of `rows` rows of a tile. Input k goes to sum k % 4, so that four
/// chains hide the latency; then the sums are added pairwise.
template <dtype type, int rows>
HWY_INLINE void float_part(const std::byte* weights, std::int64_t in,
                           const float* x, int i, f32x16 (&out)[rows]) {
  constexpr int chains = 4;
  f32_register acc[chains][rows];
  for (auto& chain : acc) {
    for (auto& a : chain) a = splat(0.0F);
  }
  const auto add_input = [&](std::int64_t k, f32_register(&sums)[rows]) {
    const f32x16 w = load_weights<type>(weights, k);
    for (int r = 0; r < rows; ++r) {
      sums[r] = multiply_add(part(w, i), splat(x[r * in + k]), sums[r]);
    }
  };
  std::int64_t k = 0;
  for (; k + chains <= in; k += chains) {
    HWY_UNROLL(4)
    for (int c = 0; c < chains; ++c) add_input(k + c, acc[c]);
  }
  for (int c = 0; k < in; ++k, ++c) add_input(k, acc[c]);
  for (int r = 0; r < rows; ++r) {
    part(out[r], i) =
        plus(plus(acc[0][r], acc[1][r]), plus(acc[2][r], acc[3][r]));
  }
}

template <dtype type, int rows>
void float_tile(const std::byte* weights, std::int64_t in, const float* x,
                float* y, std::int64_t y_stride, std::int64_t outputs) {
  f32x16 sums[rows];
  HWY_UNROLL(4)
  for (int i = 0; i < parts; ++i) {
    float_part<type, rows>(weights, in, x, i, sums);
  }
  for (int r = 0; r < rows; ++r) store_n(sums[r], y + r * y_stride, outputs);
}

template <dtype type>
void typed_float_tiles(const tile_range& range) {
  // Whose four sums the registers hold: 32 of them, or AVX2's 16.
  constexpr int most = VOUCH_EMULATED ? 1 : HWY_TARGET == HWY_AVX2 ? 3 : 4;
  const std::int64_t in = range.w.in;
  for (std::int64_t t = range.first_tile; t < range.first_tile + range.tiles;
       ++t) {
    const std::int64_t end = range.first_row + range.rows;
    std::int64_t r = range.first_row;
    const auto run = [&](auto kernel, std::int64_t rows) {
      kernel(range.w.tile(t), in, range.x.x + r * in,
             range.y + r * range.y_stride + t * tile_outputs, range.y_stride,
             range.outputs(t));
      r += rows;
    };
    while (end - r >= most) run(float_tile<type, most>, most);
    if (end - r == 3) run(float_tile<type, 3>, 3);
    if (end - r == 2) run(float_tile<type, 2>, 2);
    if (end - r == 1) run(float_tile<type, 1>, 1);
  }
}

void all_float_tiles(const tile_range& range) {
  switch (range.w.type) {
    case dtype::f32:
      return typed_float_tiles<dtype::f32>(range);
    case dtype::f16:
      return typed_float_tiles<dtype::f16>(range);
    case dtype::bf16:
      return typed_float_tiles<dtype::bf16>(range);
    default:
      return;
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace vouch::kernels
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace vouch::kernels {

HWY_EXPORT(all_float_tiles);

void float_tiles(const tile_range& range) {
  HWY_DYNAMIC_DISPATCH(all_float_tiles)(range);
}

}  // namespace vouch::kernels
#endif  // HWY_ONCE
