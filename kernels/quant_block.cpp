#include "kernels/quant_block.hpp"

#include <array>
#include <cstring>

namespace vouch::kernels {

namespace {

constexpr std::array<quant_traits, 8> table = {{
    {8, scale_kind::symmetric, 128},   // q8_0
    {4, scale_kind::symmetric, 8},     // q4_0
    {4, scale_kind::affine, 0},        // q4_1
    {5, scale_kind::symmetric, 16},    // q5_0
    {5, scale_kind::affine, 0},        // q5_1
    {4, scale_kind::super_affine, 0},  // q4_k
    {5, scale_kind::super_affine, 0},  // q5_k
    {6, scale_kind::super_halves, 32}  // q6_k
}};

using bytes = const std::uint8_t*;

std::uint16_t load_u16(bytes p) {
  return static_cast<std::uint16_t>(p[0] | (p[1] << 8));
}

std::uint32_t load_u32(bytes p) {
  return load_u16(p) | (static_cast<std::uint32_t>(load_u16(p + 2)) << 16);
}

/// 16 bytes of nibbles: the low ones are elements 0..15, the high ones 16..31.
void split_nibbles(bytes p, std::uint8_t* q) {
  for (int j = 0; j < 16; ++j) {
    q[j] = p[j] & 15U;
    q[j + 16] = p[j] >> 4;
  }
}

void add_fifth_bits(std::uint32_t high, std::uint8_t* q) {
  for (int j = 0; j < 32; ++j) {
    q[j] = static_cast<std::uint8_t>(q[j] | (((high >> j) & 1U) << 4));
  }
}

/// The packed 6-bit scale and minimum of sub-block j of Q4_K and Q5_K.
void super_scales(bytes sc, int j, std::uint8_t* s) {
  if (j < 4) {
    s[0] = sc[j] & 63U;
    s[1] = sc[j + 4] & 63U;
  } else {
    s[0] =
        static_cast<std::uint8_t>((sc[j + 4] & 15U) | ((sc[j - 4] >> 6) << 4));
    s[1] = static_cast<std::uint8_t>((sc[j + 4] >> 4) | ((sc[j] >> 6) << 4));
  }
}

void unpack_super(bool fifth, bytes p, int j, quant_block& out) {
  out.d = load_u16(p);
  out.m = load_u16(p + 2);
  super_scales(p + 4, j, out.s);
  bytes qs = p + (fifth ? 48 : 16) + 32 * (j / 2);
  const int shift = 4 * (j % 2);
  for (int l = 0; l < 32; ++l) out.q[l] = (qs[l] >> shift) & 15U;
  if (!fifth) return;
  bytes qh = p + 16;
  for (int l = 0; l < 32; ++l) {
    out.q[l] = static_cast<std::uint8_t>(out.q[l] | (((qh[l] >> j) & 1U) << 4));
  }
}

void unpack_q6_k(bytes p, int j, quant_block& out) {
  const int half = j / 4;
  const int quarter = j % 4;
  bytes ql = p + 64 * half + 32 * (quarter % 2);
  bytes qh = p + 128 + 32 * half;
  for (int l = 0; l < 32; ++l) {
    const unsigned low = quarter < 2 ? ql[l] & 15U : ql[l] >> 4;
    const unsigned high = (qh[l] >> (2 * quarter)) & 3U;
    out.q[l] = static_cast<std::uint8_t>(low | (high << 4));
  }
  bytes sc = p + 192 + 8 * half + 2 * quarter;
  out.s[0] = sc[0];
  out.s[1] = sc[1];
  out.d = load_u16(p + 208);
}

}  // namespace

bool is_quantized(dtype type) { return type >= dtype::q8_0; }

const quant_traits& quantization(dtype type) {
  return table[static_cast<std::size_t>(type) -
               static_cast<std::size_t>(dtype::q8_0)];
}

quant_block unpack_block(dtype type, const std::byte* row, std::int64_t index) {
  quant_block out{};
  const auto& t = traits(type);
  const std::int64_t per_block = t.block_elements / quant_block_elements;
  bytes p = reinterpret_cast<bytes>(row) +
            index / per_block * static_cast<std::int64_t>(t.block_bytes);
  const int j = static_cast<int>(index % per_block);
  switch (type) {
    case dtype::q8_0:
      out.d = load_u16(p);
      for (int l = 0; l < 32; ++l) out.q[l] = p[2 + l] ^ 0x80U;
      break;
    case dtype::q4_0:
      out.d = load_u16(p);
      split_nibbles(p + 2, out.q);
      break;
    case dtype::q4_1:
      out.d = load_u16(p);
      out.m = load_u16(p + 2);
      split_nibbles(p + 4, out.q);
      break;
    case dtype::q5_0:
      out.d = load_u16(p);
      split_nibbles(p + 6, out.q);
      add_fifth_bits(load_u32(p + 2), out.q);
      break;
    case dtype::q5_1:
      out.d = load_u16(p);
      out.m = load_u16(p + 2);
      split_nibbles(p + 8, out.q);
      add_fifth_bits(load_u32(p + 4), out.q);
      break;
    case dtype::q4_k:
    case dtype::q5_k:
      unpack_super(type == dtype::q5_k, p, j, out);
      break;
    case dtype::q6_k:
      unpack_q6_k(p, j, out);
      break;
    default:
      break;
  }
  return out;
}

}  // namespace vouch::kernels
