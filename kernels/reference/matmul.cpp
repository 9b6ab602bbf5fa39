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

namespace {

/// The largest magnitude: an infinity or a NaN where there is one.
float largest_of(const float* x, std::int64_t n) {
  // Magnitudes compare as integers: NaN above infinity above the finite ones.
  std::uint32_t largest = 0;
  for (std::int64_t i = 0; i < n; ++i) {
    largest =
        std::max(largest, std::bit_cast<std::uint32_t>(x[i]) & 0x7FFFFFFFU);
  }
  return std::bit_cast<float>(largest);
}

void round_block(const float* x, float inverse, activation_block& out) {
  for (int i = 0; i < quant_block_elements; ++i) {
    out.q[i] = static_cast<std::int8_t>(std::nearbyint(x[i] * inverse));
    out.sums[i / 16] += out.q[i];
  }
}

}  // namespace

activation_block quantize_block(const float* x) {
  activation_block out{};
  const float magnitude = largest_of(x, quant_block_elements);
  if (!std::isfinite(magnitude)) {
    out.scale = std::numeric_limits<float>::quiet_NaN();
    out.scaled_sum = out.scale;
    return out;
  }
  if (magnitude < 1e-30F) return out;
  out.scale = magnitude / 127.0F;
  round_block(x, 127.0F / magnitude, out);
  out.scaled_sum = out.scale * static_cast<float>(out.sums[0] + out.sums[1]);
  return out;
}

void quantize_wide_blocks(const float* x, std::int64_t blocks,
                          activation_block* out) {
  for (std::int64_t first = 0; first < blocks; first += wide_blocks) {
    const auto end = std::min(blocks, first + wide_blocks);
    const float magnitude = largest_of(x + first * quant_block_elements,
                                       (end - first) * quant_block_elements);
    for (auto b = first; b < end; ++b) {
      out[b] = {};
      if (!std::isfinite(magnitude)) {
        out[b].scale = std::numeric_limits<float>::quiet_NaN();
      } else if (magnitude >= 1e-30F) {
        out[b].scale = magnitude / 127.0F;
        round_block(x + b * quant_block_elements, 127.0F / magnitude, out[b]);
        out[b].scaled_sum = static_cast<float>(out[b].sums[0] + out[b].sums[1]);
      }
    }
  }
}

namespace {

/// Integer dot product of one half (16 elements) of a block, less zero.
std::int32_t half_dot(const quant_block& w, const activation_block& x, int half,
                      int zero) {
  std::int32_t sum = 0;
  for (int i = 16 * half; i < 16 * half + 16; ++i) sum += w.q[i] * x.q[i];
  return sum - zero * x.sums[half];
}

/// acc + (this block's part of the output).
float add_block(const quant_traits& t, const quant_block& w,
                const activation_block& x, float acc) {
  const float d = f16_to_f32(w.d);
  const std::int32_t dots[2] = {half_dot(w, x, 0, t.zero),
                                half_dot(w, x, 1, t.zero)};
  const auto dot = static_cast<float>(dots[0] + dots[1]);
  switch (t.kind) {
    case scale_kind::symmetric:
      return std::fma(d * x.scale, dot, acc);
    case scale_kind::affine:
      acc = std::fma(d * x.scale, dot, acc);
      return std::fma(f16_to_f32(w.m), x.scaled_sum, acc);
    case scale_kind::super_affine: {
      const float scale = d * static_cast<float>(w.s[0]);
      const float minimum = f16_to_f32(w.m) * static_cast<float>(w.s[1]);
      acc = std::fma(scale * x.scale, dot, acc);
      return std::fma(-minimum, x.scaled_sum, acc);
    }
    case scale_kind::super_halves:
      for (int half = 0; half < 2; ++half) {
        const auto s = static_cast<float>(static_cast<std::int8_t>(w.s[half]));
        acc = std::fma((d * s) * x.scale, static_cast<float>(dots[half]), acc);
      }
      return acc;
  }
  return acc;
}

/// With wide scales: their blocks as if their scale were 1, then the scale.
float add_wide_blocks(const quant_traits& t, dtype type, const std::byte* w,
                      std::int64_t first, std::int64_t end,
                      const activation_block* row, float acc) {
  float sum = 0;
  for (auto b = first; b < end; ++b) {
    activation_block x = row[b];
    x.scale = 1.0F;
    sum = add_block(t, unpack_block(type, w, b), x, sum);
  }
  return std::fma(sum, row[first].scale, acc);
}

void wide(dtype type, const std::byte* w, std::int64_t out, std::int64_t in,
          const float* x, float* y) {
  const std::int64_t blocks = in / quant_block_elements;
  const auto& t = quantization(type);
  std::vector<activation_block> row(static_cast<std::size_t>(blocks));
  quantize_wide_blocks(x, blocks, row.data());
  for (std::int64_t o = 0; o < out; ++o, w += row_bytes(type, in)) {
    float acc = 0;
    for (std::int64_t b = 0; b < blocks; b += wide_blocks) {
      acc = add_wide_blocks(t, type, w, b, std::min(blocks, b + wide_blocks),
                            row.data(), acc);
    }
    y[o] = acc;
  }
}

void quantized(dtype type, const std::byte* w, std::int64_t out,
               std::int64_t in, const float* x, float* y) {
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
                      row[static_cast<std::size_t>(b)], acc);
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
  for (std::int64_t r = 0; r < rows; ++r) {
    if (is_quantized(type) && has_wide_scales(plan, rows)) {
      wide(type, w, out, in, x + r * in, y + r * y_stride);
    } else if (is_quantized(type)) {
      quantized(type, w, out, in, x + r * in, y + r * y_stride);
    } else {
      floats(type, w, out, in, x + r * in, y + r * y_stride);
    }
  }
}

}  // namespace vouch::kernels::reference
