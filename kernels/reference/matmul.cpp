// The slow twin of matmul: one output at a time, from the unpacked rows.
#include "kernels/matmul.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

#include "kernels/dequantize.hpp"
#include "kernels/float16.hpp"
#include "kernels/quant_block.hpp"
#include "kernels/quantize_row.hpp"

namespace vouch::kernels::reference {

activation_block quantize_block(const float* x) {
  // Magnitudes compare as integers: NaN above infinity above the finite ones.
  std::uint32_t largest = 0;
  for (int i = 0; i < quant_block_elements; ++i) {
    largest =
        std::max(largest, std::bit_cast<std::uint32_t>(x[i]) & 0x7FFFFFFFU);
  }
  activation_block out{};
  const float magnitude = std::bit_cast<float>(largest);
  if (!std::isfinite(magnitude)) {
    out.scale = std::numeric_limits<float>::quiet_NaN();
    out.scaled_sum = out.scale;
    return out;
  }
  if (magnitude < 1e-30F) return out;
  out.scale = magnitude / 127.0F;
  const float inverse = 127.0F / magnitude;
  for (int i = 0; i < quant_block_elements; ++i) {
    out.q[i] = static_cast<std::int8_t>(std::nearbyint(x[i] * inverse));
    out.sums[i / 16] += out.q[i];
  }
  out.scaled_sum = out.scale * static_cast<float>(out.sums[0] + out.sums[1]);
  return out;
}

namespace {

/// Integer dot product of one half (16 elements) of a block, less zero.
std::int32_t half_dot(const quant_block& w, const activation_block& x, int half,
                      int zero) {
  std::int32_t sum = 0;
  for (int i = 16 * half; i < 16 * half + 16; ++i) sum += w.q[i] * x.q[i];
  return sum - zero * x.sums[half];
}

/// acc + (d * scale) * dot, or acc + d * (scale * dot).
float add_product(float d, float scale, float dot, bool in_turn, float acc) {
  return in_turn ? std::fma(d, scale * dot, acc)
                 : std::fma(d * scale, dot, acc);
}

/// acc + (this block's part of the output).
float add_block(const quant_traits& t, const quant_block& w,
                const activation_block& x, bool in_turn, float acc) {
  const float d = f16_to_f32(w.d);
  const std::int32_t dots[2] = {half_dot(w, x, 0, t.zero),
                                half_dot(w, x, 1, t.zero)};
  const auto dot = static_cast<float>(dots[0] + dots[1]);
  switch (t.kind) {
    case scale_kind::symmetric:
      return add_product(d, x.scale, dot, in_turn, acc);
    case scale_kind::affine:
      acc = add_product(d, x.scale, dot, in_turn, acc);
      return std::fma(f16_to_f32(w.m), x.scaled_sum, acc);
    case scale_kind::super_affine: {
      const float scale = d * static_cast<float>(w.s[0]);
      const float minimum = f16_to_f32(w.m) * static_cast<float>(w.s[1]);
      acc = add_product(scale, x.scale, dot, in_turn, acc);
      return std::fma(-minimum, x.scaled_sum, acc);
    }
    case scale_kind::super_halves:
      for (int half = 0; half < 2; ++half) {
        const auto s = static_cast<float>(static_cast<std::int8_t>(w.s[half]));
        acc = add_product(d * s, x.scale, static_cast<float>(dots[half]),
                          in_turn, acc);
      }
      return acc;
  }
  return acc;
}

void quantized(dtype type, const std::byte* w, std::int64_t out,
               std::int64_t in, const float* x, bool in_turn, float* y) {
  const std::int64_t blocks = in / quant_block_elements;
  const auto& t = quantization(type);
  std::vector<activation_block> row;
  for (std::int64_t b = 0; b < blocks; ++b) {
    row.push_back(quantize_block(x + b * quant_block_elements));
  }
  for (std::int64_t o = 0; o < out; ++o, w += row_bytes(type, in)) {
    float acc = 0;
    for (std::int64_t b = 0; b < blocks; ++b) {
      acc = add_block(t, unpack_block(type, w, b),
                      row[static_cast<std::size_t>(b)], in_turn, acc);
    }
    y[o] = acc;
  }
}

/// Input i goes to sum i % 4; the sums are added pairwise.
void floats(dtype type, const std::byte* w, std::int64_t out, std::int64_t in,
            const float* x, float* y) {
  std::vector<float> row(static_cast<std::size_t>(in));
  for (std::int64_t o = 0; o < out; ++o, w += row_bytes(type, in)) {
    dequantize(type, w, in, row.data());
    float sums[4] = {};
    for (std::int64_t i = 0; i < in; ++i) {
      sums[i % 4] =
          std::fma(row[static_cast<std::size_t>(i)], x[i], sums[i % 4]);
    }
    y[o] = (sums[0] + sums[1]) + (sums[2] + sums[3]);
  }
}

}  // namespace

void matmul(dtype type, const std::byte* w, std::int64_t out, std::int64_t in,
            const float* x, std::int64_t rows, float* y, std::int64_t y_stride,
            kernel_plan plan) {
  const bool in_turn = applies_scales_in_turn(plan, rows);
  for (std::int64_t r = 0; r < rows; ++r) {
    if (is_quantized(type)) {
      quantized(type, w, out, in, x + r * in, in_turn, y + r * y_stride);
    } else {
      floats(type, w, out, in, x + r * in, y + r * y_stride);
    }
  }
}

}  // namespace vouch::kernels::reference
