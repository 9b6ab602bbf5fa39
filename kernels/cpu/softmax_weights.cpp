// What sampling makes of a whole row of logits, for every target.
#include "kernels/softmax_weights.hpp"

#include <algorithm>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/softmax_weights.cpp"
#include <hwy/foreach_target.h>

#include "kernels/cpu/vec-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace vouch::kernels {
namespace HWY_NAMESPACE {

HWY_INLINE f32x16 weights_of(f32x16 x, f32x16 largest, f32x16 temperature) {
  return exp((x - largest) / temperature);
}

void weigh_row(const float* x, std::int64_t n, float largest, float temperature,
               float* out) {
  const f32x16 top = set1(largest);
  const f32x16 divisor = set1(temperature);
  std::int64_t i = 0;
  for (; i + lane_count <= n; i += lane_count) {
    store(weights_of(load(x + i), top, divisor), out + i);
  }
  if (i < n) {
    store_n(weights_of(load_n(x + i, n - i), top, divisor), out + i, n - i);
  }
}

std::uint64_t row_mass(const float* x, std::int64_t n, float largest,
                       float temperature) {
  const f32x16 top = set1(largest);
  const f32x16 divisor = set1(temperature);
  const f32x16 scale = set1(0x1p20F);
  std::uint64_t total = 0;
  std::int64_t i = 0;
  while (i + lane_count <= n) {
    // In two halves of 20 bits, because vectors convert to 32-bit integers
    // only; 64 of them fit a lane, and 16 lanes one sum.
    i32x16 high = set1(std::int32_t{0});
    i32x16 low = high;
    const std::int64_t end = std::min(n - lane_count, i + 63 * lane_count);
    for (; i <= end; i += lane_count) {
      const f32x16 scaled = weights_of(load(x + i), top, divisor) * scale;
      const i32x16 whole = to_int(scaled);
      high = high + whole;
      low = low + to_int((scaled - to_float(whole)) * scale);
    }
    total += (static_cast<std::uint64_t>(sum(high)) << 20) +
             static_cast<std::uint64_t>(sum(low));
  }
  for (; i < n; ++i) {
    total += softmax_mass(exp_f32((x[i] - largest) / temperature));
  }
  return total;
}

}  // namespace HWY_NAMESPACE
}  // namespace vouch::kernels
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace vouch::kernels {

HWY_EXPORT(weigh_row);
HWY_EXPORT(row_mass);

void softmax_weights(const float* x, std::int64_t n, float largest,
                     float temperature, float* out) {
  HWY_DYNAMIC_DISPATCH(weigh_row)(x, n, largest, temperature, out);
}

std::uint64_t softmax_mass(const float* x, std::int64_t n, float largest,
                           float temperature) {
  return HWY_DYNAMIC_DISPATCH(row_mass)(x, n, largest, temperature);
}

}  // namespace vouch::kernels
#endif  // HWY_ONCE
