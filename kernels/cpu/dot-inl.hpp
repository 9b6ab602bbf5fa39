// Dot products of unsigned 8-bit weights (or fewer bits) with signed 8-bit
// activations, exact in 32-bit integers, on every target.
#if defined(VOUCH_KERNELS_CPU_DOT_INL_HPP) == defined(HWY_TARGET_TOGGLE)
#ifdef VOUCH_KERNELS_CPU_DOT_INL_HPP
#undef VOUCH_KERNELS_CPU_DOT_INL_HPP
#else
#define VOUCH_KERNELS_CPU_DOT_INL_HPP
#endif

#include <cstring>

#include "kernels/cpu/packed.hpp"
#include "kernels/cpu/vec-inl.hpp"

HWY_BEFORE_NAMESPACE();
#include "kernels/cpu/vnni-inl.hpp"
namespace vouch::kernels {
namespace HWY_NAMESPACE {

#if VOUCH_EMULATED

/// One group: 16 outputs x 4 inputs.
struct u8x64 {
  std::uint8_t v[64];
};

HWY_INLINE u8x64 load_bytes64(const std::uint8_t* p) {
  u8x64 r;
  std::memcpy(r.v, p, sizeof r.v);
  return r;
}

template <int n>
HWY_INLINE u8x64 shift_and(u8x64 a, int mask) {
  u8x64 r;
  for (int i = 0; i < 64; ++i) {
    // Where n is 0 both are alike. NOLINTBEGIN(bugprone-branch-clone)
    const int shifted =
        n > 0 ? a.v[i] >> (n > 0 ? n : 0) : a.v[i] << (n < 0 ? -n : 0);
    // NOLINTEND(bugprone-branch-clone)
    r.v[i] = static_cast<std::uint8_t>(shifted & mask);
  }
  return r;
}

HWY_INLINE u8x64 operator|(u8x64 a, u8x64 b) {
  for (int i = 0; i < 64; ++i) {
    a.v[i] = static_cast<std::uint8_t>(a.v[i] | b.v[i]);
  }
  return a;
}

#else

using d_u8 = hn::CappedTag<std::uint8_t, 64>;
using d_u16 = hn::Repartition<std::uint16_t, d_u8>;

/// One group: 16 outputs x 4 inputs.
struct u8x64 {
  VOUCH_CONSTRUCTOR(u8x64)
  hn::Vec<d_u8> v[parts];
};

HWY_INLINE u8x64 load_bytes64(const std::uint8_t* p) {
  u8x64 r;
  for (int i = 0; i < parts; ++i) {
    r.v[i] = hn::LoadU(d_u8(), p + i * 4 * register_lanes);
  }
  return r;
}

/// (byte shifted right by n, left when n is negative) & mask; bits that cross
/// from a neighbour byte are masked away.
template <int n>
HWY_INLINE u8x64 shift_and(u8x64 a, int mask) {
  const auto m = hn::Set(d_u8(), static_cast<std::uint8_t>(mask));
  u8x64 r;
  for (int i = 0; i < parts; ++i) {
    auto wide = hn::BitCast(d_u16(), a.v[i]);
    if constexpr (n > 0) wide = hn::ShiftRight<n>(wide);
    if constexpr (n < 0) wide = hn::ShiftLeft<-n>(wide);
    r.v[i] = hn::And(hn::BitCast(d_u8(), wide), m);
  }
  return r;
}

HWY_INLINE u8x64 operator|(u8x64 a, u8x64 b) {
  u8x64 r;
  for (int i = 0; i < parts; ++i) r.v[i] = hn::Or(a.v[i], b.v[i]);
  return r;
}

#endif

/// The eight groups of a packed block, one byte a weight.
template <int bits>
HWY_INLINE void expand(const std::uint8_t* p, u8x64 (&w)[8]) {
  if constexpr (bits == 8) {
    for (int g = 0; g < 8; ++g) w[g] = load_bytes64(p + 64 * g);
  } else {
    for (int g = 0; g < 4; ++g) {
      const u8x64 both = load_bytes64(p + 64 * g);
      w[g] = shift_and<0>(both, 15);
      w[g + 4] = shift_and<4>(both, 15);
    }
  }
  if constexpr (bits == 5) {
    const u8x64 high = load_bytes64(p + 256);
    w[0] = w[0] | shift_and<-4>(high, 16);
    w[1] = w[1] | shift_and<-3>(high, 16);
    w[2] = w[2] | shift_and<-2>(high, 16);
    w[3] = w[3] | shift_and<-1>(high, 16);
    w[4] = w[4] | shift_and<0>(high, 16);
    w[5] = w[5] | shift_and<1>(high, 16);
    w[6] = w[6] | shift_and<2>(high, 16);
    w[7] = w[7] | shift_and<3>(high, 16);
  }
  if constexpr (bits == 6) {
    for (int h = 0; h < 2; ++h) {
      const u8x64 high = load_bytes64(p + 256 + 64 * h);
      w[4 * h] = w[4 * h] | shift_and<-4>(high, 48);
      w[4 * h + 1] = w[4 * h + 1] | shift_and<-2>(high, 48);
      w[4 * h + 2] = w[4 * h + 2] | shift_and<0>(high, 48);
      w[4 * h + 3] = w[4 * h + 3] | shift_and<2>(high, 48);
    }
  }
}

/// Four activations for every lane.
HWY_INLINE std::int32_t load4(const std::int8_t* x) {
  std::int32_t four;
  std::memcpy(&four, x, 4);
  return four;
}

/// Only the unsigned-by-signed instructions take full 8-bit weights as they
/// are; the others subtract 128 themselves, exactly.
constexpr bool eight_bits_are_offset = HWY_TARGET == HWY_AVX3_DL;

#if HWY_TARGET == HWY_AVX3_DL

template <int bits, int first, int count>
HWY_INLINE i32_register dot(const u8x64 (&w)[8], const std::int8_t* x, int) {
  i32_register r;
  r.raw = _mm512_setzero_si512();
  HWY_UNROLL(8)
  for (int g = first; g < first + count; ++g) {
    r.raw = _mm512_dpbusd_epi32(r.raw, w[g].v[0].raw,
                                _mm512_set1_epi32(load4(x + 4 * g)));
  }
  return r;
}

#elif HWY_TARGET == HWY_AVX3 || HWY_TARGET == HWY_AVX2

#if HWY_TARGET == HWY_AVX3
using raw_int = __m512i;
HWY_INLINE raw_int broadcast4(std::int32_t x) { return _mm512_set1_epi32(x); }
HWY_INLINE raw_int add16(raw_int a, raw_int b) {
  return _mm512_add_epi16(a, b);
}
HWY_INLINE raw_int add32(raw_int a, raw_int b) {
  return _mm512_add_epi32(a, b);
}
HWY_INLINE raw_int pairs(raw_int w, raw_int x) {
  return _mm512_maddubs_epi16(w, x);
}
HWY_INLINE raw_int widen(raw_int a) {
  return _mm512_madd_epi16(a, _mm512_set1_epi16(1));
}
HWY_INLINE raw_int signed_pairs(raw_int w, raw_int x) {
  w = _mm512_xor_si512(w, _mm512_set1_epi8(-128));
  const __mmask64 negative = _mm512_movepi8_mask(w);
  x = _mm512_mask_sub_epi8(x, negative, _mm512_setzero_si512(), x);
  return _mm512_maddubs_epi16(_mm512_abs_epi8(w), x);
}
#else
using raw_int = __m256i;
HWY_INLINE raw_int broadcast4(std::int32_t x) { return _mm256_set1_epi32(x); }
HWY_INLINE raw_int add16(raw_int a, raw_int b) {
  return _mm256_add_epi16(a, b);
}
HWY_INLINE raw_int add32(raw_int a, raw_int b) {
  return _mm256_add_epi32(a, b);
}
HWY_INLINE raw_int pairs(raw_int w, raw_int x) {
  return _mm256_maddubs_epi16(w, x);
}
HWY_INLINE raw_int widen(raw_int a) {
  return _mm256_madd_epi16(a, _mm256_set1_epi16(1));
}
HWY_INLINE raw_int signed_pairs(raw_int w, raw_int x) {
  w = _mm256_xor_si256(w, _mm256_set1_epi8(-128));
  return _mm256_maddubs_epi16(_mm256_abs_epi8(w), _mm256_sign_epi8(x, w));
}
#endif

/// Products are added in 16 bits as long as they cannot overflow: a pair is at
/// most 2 * (2^bits - 1) * 127, for 8 signed bits 2 * 128 * 127.
template <int bits, int first, int count>
HWY_INLINE i32_register dot(const u8x64 (&w)[8], const std::int8_t* x, int i) {
  constexpr int run = bits == 4 ? 8 : bits == 5 ? 4 : bits == 6 ? 2 : 1;
  constexpr int step = run < count ? run : count;
  i32_register r;
  HWY_UNROLL(8)
  for (int g = first; g < first + count; g += step) {
    raw_int sums{};
    HWY_UNROLL(8)
    for (int k = g; k < g + step; ++k) {
      const raw_int four = broadcast4(load4(x + 4 * k));
      const raw_int pair = bits == 8 ? signed_pairs(w[k].v[i].raw, four)
                                     : pairs(w[k].v[i].raw, four);
      sums = k == g ? pair : add16(sums, pair);
    }
    r.raw = g == first ? widen(sums) : add32(r.raw, widen(sums));
  }
  return r;
}

#elif HWY_ARCH_ARM_A64 && !VOUCH_EMULATED

template <int bits, int first, int count>
HWY_INLINE i32_register dot(const u8x64 (&w)[8], const std::int8_t* x, int i) {
  int32x4_t acc = vdupq_n_s32(0);
  for (int g = first; g < first + count; ++g) {
    const int8x16_t four = vreinterpretq_s8_s32(vdupq_n_s32(load4(x + 4 * g)));
    uint8x16_t weights = w[g].v[i].raw;
    if (bits == 8) weights = veorq_u8(weights, vdupq_n_u8(128));
    const int8x16_t s = vreinterpretq_s8_u8(weights);
#if defined(__ARM_FEATURE_DOTPROD)
    acc = vdotq_s32(acc, s, four);
#else
    const int16x8_t low = vmull_s8(vget_low_s8(s), vget_low_s8(four));
    const int16x8_t high = vmull_high_s8(s, four);
    acc = vaddq_s32(acc, vpaddq_s32(vpaddlq_s16(low), vpaddlq_s16(high)));
#endif
  }
  i32_register r;
  r.raw = acc;
  return r;
}

#else

template <int bits, int first, int count>
HWY_INLINE i32_register dot(const u8x64 (&w)[8], const std::int8_t* x, int) {
  i32_register r = set1(std::int32_t{0});
  for (int g = first; g < first + count; ++g) {
    for (int k = 0; k < 64; ++k) {
      const std::int32_t weight = bits == 8 ? w[g].v[k] - 128 : w[g].v[k];
      r.v[k / 4] += weight * x[4 * g + k % 4];
    }
  }
  return r;
}

#endif

}  // namespace HWY_NAMESPACE
}  // namespace vouch::kernels
HWY_AFTER_NAMESPACE();

#endif  // per-target toggle
