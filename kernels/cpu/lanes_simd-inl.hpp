// The 16 lanes in registers, through Highway: one of 512 bits, two of 256 or
// four of 128.
// Included once per target by vec-inl.hpp alone, whose guard covers it.
#include <cstdint>

#include <hwy/highway.h>

#include "kernels/lanes.hpp"

HWY_BEFORE_NAMESPACE();
namespace vouch::kernels {
namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

using d_f32 = hn::CappedTag<float, lane_count>;
using d_i32 = hn::RebindToSigned<d_f32>;
using d_u32 = hn::RebindToUnsigned<d_f32>;

/// Lanes of a register and registers of 16 lanes.
constexpr int register_lanes = static_cast<int>(hn::MaxLanes(d_f32()));
constexpr int parts = lane_count / register_lanes;

// An implicit constructor would not carry the target's attributes, and GCC then
// refuses to inline the one of Highway's NEON registers.
#undef VOUCH_CONSTRUCTOR
#if HWY_ARCH_ARM
#define VOUCH_CONSTRUCTOR(type) \
  HWY_INLINE type() {}
#else
#define VOUCH_CONSTRUCTOR(type)
#endif

struct f32x16 {
  VOUCH_CONSTRUCTOR(f32x16)
  hn::Vec<d_f32> v[parts];
};
struct i32x16 {
  VOUCH_CONSTRUCTOR(i32x16)
  hn::Vec<d_i32> v[parts];
};
struct mask16 {
  VOUCH_CONSTRUCTOR(mask16)
  hn::Mask<d_f32> v[parts];
};

/// One register of the 16 lanes: what loops that keep many of them at a time
/// are written in, so that a target with narrow registers works on one after
/// the other and need not hold all.
using f32_register = hn::Vec<d_f32>;
using i32_register = hn::Vec<d_i32>;

HWY_INLINE f32_register& part(f32x16& a, int i) { return a.v[i]; }
HWY_INLINE const f32_register& part(const f32x16& a, int i) { return a.v[i]; }
HWY_INLINE i32_register& part(i32x16& a, int i) { return a.v[i]; }
HWY_INLINE f32_register splat(float x) { return hn::Set(d_f32(), x); }
HWY_INLINE i32_register splat(std::int32_t x) { return hn::Set(d_i32(), x); }
HWY_INLINE f32_register plus(f32_register a, f32_register b) {
  return hn::Add(a, b);
}
HWY_INLINE f32_register multiply(f32_register a, f32_register b) {
  return hn::Mul(a, b);
}
HWY_INLINE f32_register multiply_add(f32_register a, f32_register b,
                                     f32_register c) {
  return hn::MulAdd(a, b, c);
}
HWY_INLINE i32_register subtract(i32_register a, i32_register b) {
  return hn::Sub(a, b);
}
HWY_INLINE f32_register as_float(i32_register a) {
  return hn::ConvertTo(d_f32(), a);
}

/// Body of a function whose result is `expression` for each register i.
#define VOUCH_EACH(type, expression) \
  type r;                            \
  HWY_UNROLL(4)                      \
  for (int i = 0; i < parts; ++i) {  \
    r.v[i] = (expression);           \
  }                                  \
  return r

HWY_INLINE f32x16 set1(float x) { VOUCH_EACH(f32x16, hn::Set(d_f32(), x)); }
HWY_INLINE i32x16 set1(std::int32_t x) {
  VOUCH_EACH(i32x16, hn::Set(d_i32(), x));
}
HWY_INLINE f32x16 zero() { VOUCH_EACH(f32x16, hn::Zero(d_f32())); }

HWY_INLINE f32x16 load(const float* p) {
  VOUCH_EACH(f32x16, hn::LoadU(d_f32(), p + i * register_lanes));
}
HWY_INLINE void store(f32x16 a, float* p) {
  for (int i = 0; i < parts; ++i) {
    hn::StoreU(a.v[i], d_f32(), p + i * register_lanes);
  }
}
HWY_INLINE f32x16 operator+(f32x16 a, f32x16 b) {
  VOUCH_EACH(f32x16, hn::Add(a.v[i], b.v[i]));
}
HWY_INLINE f32x16 operator-(f32x16 a, f32x16 b) {
  VOUCH_EACH(f32x16, hn::Sub(a.v[i], b.v[i]));
}
HWY_INLINE f32x16 operator*(f32x16 a, f32x16 b) {
  VOUCH_EACH(f32x16, hn::Mul(a.v[i], b.v[i]));
}
HWY_INLINE f32x16 operator/(f32x16 a, f32x16 b) {
  VOUCH_EACH(f32x16, hn::Div(a.v[i], b.v[i]));
}
HWY_INLINE f32x16 negate(f32x16 a) { VOUCH_EACH(f32x16, hn::Neg(a.v[i])); }
HWY_INLINE f32x16 min(f32x16 a, f32x16 b) {
  VOUCH_EACH(f32x16, hn::Min(a.v[i], b.v[i]));
}
HWY_INLINE f32x16 max(f32x16 a, f32x16 b) {
  VOUCH_EACH(f32x16, hn::Max(a.v[i], b.v[i]));
}

/// a * b + c, rounded once.
HWY_INLINE f32x16 fma(f32x16 a, f32x16 b, f32x16 c) {
  VOUCH_EACH(f32x16, hn::MulAdd(a.v[i], b.v[i], c.v[i]));
}

HWY_INLINE mask16 operator<(f32x16 a, f32x16 b) {
  VOUCH_EACH(mask16, hn::Lt(a.v[i], b.v[i]));
}
HWY_INLINE mask16 is_nan(f32x16 a) { VOUCH_EACH(mask16, hn::IsNaN(a.v[i])); }
HWY_INLINE f32x16 select(mask16 m, f32x16 yes, f32x16 no) {
  VOUCH_EACH(f32x16, hn::IfThenElse(m.v[i], yes.v[i], no.v[i]));
}
HWY_INLINE bool any(mask16 m) {
  bool found = false;
  for (int i = 0; i < parts; ++i) {
    found = found || !hn::AllFalse(d_f32(), m.v[i]);
  }
  return found;
}

HWY_INLINE i32x16 bits(f32x16 a) {
  VOUCH_EACH(i32x16, hn::BitCast(d_i32(), a.v[i]));
}
HWY_INLINE f32x16 from_bits(i32x16 a) {
  VOUCH_EACH(f32x16, hn::BitCast(d_f32(), a.v[i]));
}
HWY_INLINE f32x16 to_float(i32x16 a) {
  VOUCH_EACH(f32x16, hn::ConvertTo(d_f32(), a.v[i]));
}
/// Towards zero; in range.
HWY_INLINE i32x16 to_int(f32x16 a) {
  VOUCH_EACH(i32x16, hn::ConvertTo(d_i32(), a.v[i]));
}
HWY_INLINE i32x16 operator+(i32x16 a, i32x16 b) {
  VOUCH_EACH(i32x16, hn::Add(a.v[i], b.v[i]));
}
HWY_INLINE i32x16 operator-(i32x16 a, i32x16 b) {
  VOUCH_EACH(i32x16, hn::Sub(a.v[i], b.v[i]));
}
HWY_INLINE i32x16 operator&(i32x16 a, i32x16 b) {
  VOUCH_EACH(i32x16, hn::And(a.v[i], b.v[i]));
}
HWY_INLINE i32x16 max(i32x16 a, i32x16 b) {
  VOUCH_EACH(i32x16, hn::Max(a.v[i], b.v[i]));
}
HWY_INLINE void store(i32x16 a, std::int32_t* p) {
  for (int i = 0; i < parts; ++i) {
    hn::StoreU(a.v[i], d_i32(), p + i * register_lanes);
  }
}
template <int n>
HWY_INLINE i32x16 shift_left(i32x16 a) {
  VOUCH_EACH(i32x16, hn::ShiftLeft<n>(a.v[i]));
}
template <int n>
HWY_INLINE i32x16 shift_right(i32x16 a) {
  VOUCH_EACH(i32x16, hn::ShiftRight<n>(a.v[i]));
}

/// 16 binary16 or bfloat16 numbers, widened exactly.
HWY_INLINE f32x16 load_f16(const std::uint16_t* p) {
  const hn::Rebind<hwy::float16_t, d_f32> d;
  VOUCH_EACH(f32x16,
             hn::PromoteTo(d_f32(),
                           hn::LoadU(d, reinterpret_cast<const hwy::float16_t*>(
                                            p + i * register_lanes))));
}
HWY_INLINE f32x16 load_bf16(const std::uint16_t* p) {
  const hn::Rebind<std::uint16_t, d_f32> d;
  VOUCH_EACH(f32x16,
             hn::BitCast(d_f32(),
                         hn::ShiftLeft<16>(hn::PromoteTo(
                             d_u32(), hn::LoadU(d, p + i * register_lanes)))));
}
/// 16 unsigned or signed bytes as floats.
template <class Byte>
HWY_INLINE f32x16 load_bytes(const Byte* p) {
  const hn::Rebind<Byte, d_f32> d;
  VOUCH_EACH(f32x16,
             hn::ConvertTo(
                 d_f32(),
                 hn::PromoteTo(d_i32(), hn::LoadU(d, p + i * register_lanes))));
}

#undef VOUCH_EACH

/// Rounded to the nearest binary16 number, ties to even.
HWY_INLINE void store_f16(f32x16 a, std::uint16_t* p) {
  const hn::Rebind<hwy::float16_t, d_f32> d;
  for (int i = 0; i < parts; ++i) {
    hn::StoreU(hn::DemoteTo(d, a.v[i]), d,
               reinterpret_cast<hwy::float16_t*>(p + i * register_lanes));
  }
}

/// 16 numbers in [-128, 127].
HWY_INLINE void store_i8(i32x16 a, std::int8_t* p) {
  const hn::Rebind<std::int8_t, d_i32> d;
  for (int i = 0; i < parts; ++i) {
    hn::StoreU(hn::DemoteTo(d, a.v[i]), d, p + i * register_lanes);
  }
}

/// Integers, so in any order.
HWY_INLINE std::int32_t sum(i32x16 a) {
  auto total = a.v[0];
  for (int i = 1; i < parts; ++i) total = hn::Add(total, a.v[i]);
  return hn::GetLane(hn::SumOfLanes(d_i32(), total));
}
HWY_INLINE std::int32_t largest(i32x16 a) {
  auto best = a.v[0];
  for (int i = 1; i < parts; ++i) best = hn::Max(best, a.v[i]);
  return hn::GetLane(hn::MaxOfLanes(d_i32(), best));
}

}  // namespace HWY_NAMESPACE
}  // namespace vouch::kernels
HWY_AFTER_NAMESPACE();
