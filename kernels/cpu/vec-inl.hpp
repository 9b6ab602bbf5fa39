// The 16 virtual lanes that every op is written in, once per target: one
// 512-bit register, two of 256 or four of 128. Only operations with exactly one
// right result are used (IEEE add, multiply, fused multiply-add, divide, square
// root, integer), so that all targets give the same bytes.
// Included once per target (Highway's scheme), hence this toggle.
#if defined(VOUCH_KERNELS_CPU_VEC_INL_HPP) == defined(HWY_TARGET_TOGGLE)
#ifdef VOUCH_KERNELS_CPU_VEC_INL_HPP
#undef VOUCH_KERNELS_CPU_VEC_INL_HPP
#else
#define VOUCH_KERNELS_CPU_VEC_INL_HPP
#endif

#include <cmath>
#include <cstdint>
#include <limits>

#include <hwy/highway.h>

#include "kernels/exp.hpp"
#include "kernels/lanes.hpp"

#undef VOUCH_EMULATED
#if HWY_TARGET == HWY_EMU128 || HWY_TARGET == HWY_SCALAR
#define VOUCH_EMULATED 1
#include "kernels/cpu/lanes_emulated-inl.hpp"
#else
#define VOUCH_EMULATED 0
#include "kernels/cpu/lanes_simd-inl.hpp"
#endif

HWY_BEFORE_NAMESPACE();
namespace vouch::kernels {
namespace HWY_NAMESPACE {

/// The first n of 16; the other lanes are zero, or are not stored.
HWY_INLINE f32x16 load_n(const float* p, std::int64_t n) {
  alignas(64) float buffer[lane_count] = {};
  for (std::int64_t i = 0; i < n; ++i) buffer[i] = p[i];
  return load(buffer);
}
HWY_INLINE void store_n(f32x16 a, float* p, std::int64_t n) {
  alignas(64) float buffer[lane_count];
  store(a, buffer);
  for (std::int64_t i = 0; i < n; ++i) p[i] = buffer[i];
}

/// The fixed tree of kernels/lanes.hpp.
HWY_INLINE float sum(f32x16 a) {
  alignas(64) float lanes[lane_count];
  store(a, lanes);
  return sum_lanes(lanes);
}

HWY_INLINE float largest(f32x16 a) {
  alignas(64) float lanes[lane_count];
  store(a, lanes);
  float best = lanes[0];
  for (int l = 1; l < lane_count; ++l) best = lanes[l] > best ? lanes[l] : best;
  return best;
}

/// Adding and subtracting this rounds |x| < 2^22 to the nearest integer, ties
/// to even, whose value then stands in the low bits of the sum.
constexpr float round_magic = 0x1.8p+23F;

/// exp_f32 of kernels/exp.hpp, step by step, in 16 lanes.
HWY_INLINE f32x16 exp(f32x16 x) {
  const f32x16 in = min(max(x, set1(exp_lowest)), set1(exp_highest));
  const f32x16 shifted = in * set1(exp_log2e) + set1(round_magic);
  const f32x16 n = shifted - set1(round_magic);
  f32x16 r = fma(negate(n), set1(exp_ln2_high), in);
  r = fma(negate(n), set1(exp_ln2_low), r);
  f32x16 p = set1(exp_coefficients[0]);
  for (int i = 1; i < 6; ++i) p = fma(p, r, set1(exp_coefficients[i]));
  p = fma(p, r, set1(1.0F));
  p = fma(p, r, set1(1.0F));
  const i32x16 k = bits(shifted) - bits(set1(round_magic));
  const i32x16 half = shift_right<1>(k);
  const i32x16 bias = set1(std::int32_t{127});
  p = p * from_bits(shift_left<23>(half + bias)) *
      from_bits(shift_left<23>(k - half + bias));
  p = select(x < set1(exp_lowest), zero(), p);
  p = select(set1(exp_highest) < x,
             set1(std::numeric_limits<float>::infinity()), p);
  return select(is_nan(x), x, p);
}

}  // namespace HWY_NAMESPACE
}  // namespace vouch::kernels
HWY_AFTER_NAMESPACE();

#endif  // per-target toggle
