// The 16 lanes without registers: what a machine without fused multiply-add
// runs, and the plainest statement of each operation of lanes_simd-inl.hpp.
// Included once per target by vec-inl.hpp alone, whose guard covers it.
#include <bit>
#include <cmath>
#include <cstdint>

#include <hwy/highway.h>

#include "kernels/float16.hpp"
#include "kernels/lanes.hpp"

HWY_BEFORE_NAMESPACE();
namespace vouch::kernels {
namespace HWY_NAMESPACE {

/// Lanes of a register and registers of 16 lanes: here there are none.
constexpr int register_lanes = lane_count;
constexpr int parts = 1;

struct f32x16 {
  float v[lane_count];
};
struct i32x16 {
  std::int32_t v[lane_count];
};
struct mask16 {
  bool v[lane_count];
};

/// Body of a function whose result is `expression` for each lane i.
#define VOUCH_EACH(type, expression)                        \
  type r;                                                   \
  for (int i = 0; i < lane_count; ++i) r.v[i] = expression; \
  return r

/// Integers wrap as they do in registers.
// op is an operator. NOLINTBEGIN(bugprone-macro-parentheses)
#define VOUCH_WRAP(a, op, b)                              \
  static_cast<std::int32_t>(static_cast<std::uint32_t>(a) \
                                op static_cast<std::uint32_t>(b))
// NOLINTEND(bugprone-macro-parentheses)

HWY_INLINE f32x16 set1(float x) { VOUCH_EACH(f32x16, x); }
HWY_INLINE i32x16 set1(std::int32_t x) { VOUCH_EACH(i32x16, x); }
HWY_INLINE f32x16 zero() { return set1(0.0F); }

HWY_INLINE f32x16 load(const float* p) { VOUCH_EACH(f32x16, p[i]); }
HWY_INLINE void store(f32x16 a, float* p) {
  for (int i = 0; i < lane_count; ++i) p[i] = a.v[i];
}
HWY_INLINE void store(i32x16 a, std::int32_t* p) {
  for (int i = 0; i < lane_count; ++i) p[i] = a.v[i];
}

HWY_INLINE f32x16 operator+(f32x16 a, f32x16 b) {
  VOUCH_EACH(f32x16, a.v[i] + b.v[i]);
}
HWY_INLINE f32x16 operator-(f32x16 a, f32x16 b) {
  VOUCH_EACH(f32x16, a.v[i] - b.v[i]);
}
HWY_INLINE f32x16 operator*(f32x16 a, f32x16 b) {
  VOUCH_EACH(f32x16, a.v[i] * b.v[i]);
}
HWY_INLINE f32x16 operator/(f32x16 a, f32x16 b) {
  VOUCH_EACH(f32x16, a.v[i] / b.v[i]);
}
HWY_INLINE f32x16 negate(f32x16 a) { VOUCH_EACH(f32x16, -a.v[i]); }
HWY_INLINE f32x16 min(f32x16 a, f32x16 b) {
  VOUCH_EACH(f32x16, a.v[i] < b.v[i] ? a.v[i] : b.v[i]);
}
HWY_INLINE f32x16 max(f32x16 a, f32x16 b) {
  VOUCH_EACH(f32x16, a.v[i] > b.v[i] ? a.v[i] : b.v[i]);
}
/// a * b + c, rounded once.
HWY_INLINE f32x16 fma(f32x16 a, f32x16 b, f32x16 c) {
  VOUCH_EACH(f32x16, std::fma(a.v[i], b.v[i], c.v[i]));
}

HWY_INLINE mask16 operator<(f32x16 a, f32x16 b) {
  VOUCH_EACH(mask16, a.v[i] < b.v[i]);
}
HWY_INLINE mask16 is_nan(f32x16 a) { VOUCH_EACH(mask16, a.v[i] != a.v[i]); }
HWY_INLINE f32x16 select(mask16 m, f32x16 yes, f32x16 no) {
  VOUCH_EACH(f32x16, m.v[i] ? yes.v[i] : no.v[i]);
}
HWY_INLINE bool any(mask16 m) {
  for (bool b : m.v) {
    if (b) return true;
  }
  return false;
}

HWY_INLINE i32x16 bits(f32x16 a) {
  VOUCH_EACH(i32x16, std::bit_cast<std::int32_t>(a.v[i]));
}
HWY_INLINE f32x16 from_bits(i32x16 a) {
  VOUCH_EACH(f32x16, std::bit_cast<float>(a.v[i]));
}
HWY_INLINE f32x16 to_float(i32x16 a) {
  VOUCH_EACH(f32x16, static_cast<float>(a.v[i]));
}
/// Towards zero; in range.
HWY_INLINE i32x16 to_int(f32x16 a) {
  VOUCH_EACH(i32x16, static_cast<std::int32_t>(a.v[i]));
}
HWY_INLINE i32x16 operator+(i32x16 a, i32x16 b) {
  VOUCH_EACH(i32x16, VOUCH_WRAP(a.v[i], +, b.v[i]));
}
HWY_INLINE i32x16 operator-(i32x16 a, i32x16 b) {
  VOUCH_EACH(i32x16, VOUCH_WRAP(a.v[i], -, b.v[i]));
}
HWY_INLINE i32x16 operator&(i32x16 a, i32x16 b) {
  VOUCH_EACH(i32x16, a.v[i] & b.v[i]);
}
HWY_INLINE i32x16 max(i32x16 a, i32x16 b) {
  VOUCH_EACH(i32x16, a.v[i] > b.v[i] ? a.v[i] : b.v[i]);
}
template <int n>
HWY_INLINE i32x16 shift_left(i32x16 a) {
  VOUCH_EACH(i32x16, VOUCH_WRAP(a.v[i], <<, n));
}
template <int n>
HWY_INLINE i32x16 shift_right(i32x16 a) {
  VOUCH_EACH(i32x16, a.v[i] >> n);
}

/// 16 binary16 or bfloat16 numbers, widened exactly.
HWY_INLINE f32x16 load_f16(const std::uint16_t* p) {
  VOUCH_EACH(f32x16, f16_to_f32(p[i]));
}
HWY_INLINE f32x16 load_bf16(const std::uint16_t* p) {
  VOUCH_EACH(f32x16, bf16_to_f32(p[i]));
}
/// 16 unsigned or signed bytes as floats.
template <class Byte>
HWY_INLINE f32x16 load_bytes(const Byte* p) {
  VOUCH_EACH(f32x16, static_cast<float>(p[i]));
}

/// Rounded to the nearest binary16 number, ties to even.
HWY_INLINE void store_f16(f32x16 a, std::uint16_t* p) {
  for (int i = 0; i < lane_count; ++i) p[i] = f32_to_f16(a.v[i]);
}

/// 16 numbers in [-128, 127].
HWY_INLINE void store_i8(i32x16 a, std::int8_t* p) {
  for (int i = 0; i < lane_count; ++i) p[i] = static_cast<std::int8_t>(a.v[i]);
}

HWY_INLINE std::int32_t sum(i32x16 a) {
  std::int32_t total = 0;
  for (std::int32_t v : a.v) total += v;
  return total;
}
HWY_INLINE std::int32_t largest(i32x16 a) {
  std::int32_t best = a.v[0];
  for (std::int32_t v : a.v) best = v > best ? v : best;
  return best;
}

using f32_register = f32x16;
using i32_register = i32x16;

HWY_INLINE f32x16& part(f32x16& a, int) { return a; }
HWY_INLINE const f32x16& part(const f32x16& a, int) { return a; }
HWY_INLINE i32x16& part(i32x16& a, int) { return a; }
HWY_INLINE f32x16 splat(float x) { return set1(x); }
HWY_INLINE i32x16 splat(std::int32_t x) { return set1(x); }
HWY_INLINE f32x16 plus(f32x16 a, f32x16 b) { return a + b; }
HWY_INLINE f32x16 multiply(f32x16 a, f32x16 b) { return a * b; }
HWY_INLINE f32x16 multiply_add(f32x16 a, f32x16 b, f32x16 c) {
  return fma(a, b, c);
}
HWY_INLINE i32x16 subtract(i32x16 a, i32x16 b) { return a - b; }
HWY_INLINE f32x16 as_float(i32x16 a) { return to_float(a); }

#undef VOUCH_WRAP
#undef VOUCH_EACH

}  // namespace HWY_NAMESPACE
}  // namespace vouch::kernels
HWY_AFTER_NAMESPACE();
