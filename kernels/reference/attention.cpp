// The slow twin of attention, over rows read back by kv_read.
#include "kernels/attention.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include "kernels/dequantize.hpp"
#include "kernels/exp.hpp"
#include "kernels/lanes.hpp"

namespace vouch::kernels::reference {

namespace {

constexpr float minus_infinity = -std::numeric_limits<float>::infinity();

/// Softmax over one chunk of one row and head: the largest score, the sum of
/// exp(score - largest), and the values weighted by those.
struct chunk_part {
  float largest = minus_infinity;
  float sum = 0;
  std::vector<float> out;
};

/// K and V of the positions 0 ... n - 1 as floats, [position][head][dim].
struct expanded_rows {
  std::vector<float> k;
  std::vector<float> v;
};

expanded_rows expand(const kv_layout& layout, const std::byte* layer,
                     const std::int32_t* block_table, std::int64_t n) {
  const std::int64_t width =
      static_cast<std::int64_t>(layout.kv_heads) * layout.head_dim;
  std::vector<std::byte> k(row_bytes(layout.type, width));
  std::vector<std::byte> v(k.size());
  expanded_rows rows;
  rows.k.resize(static_cast<std::size_t>(n * width));
  rows.v.resize(rows.k.size());
  for (std::int64_t p = 0; p < n; ++p) {
    kv_read(layout, layer, block_table, p, k.data(), v.data());
    dequantize(layout.type, k.data(), width, rows.k.data() + p * width);
    dequantize(layout.type, v.data(), width, rows.v.data() + p * width);
  }
  return rows;
}

/// `k`, `v`: the head's row of the chunk's first position, rows `width` apart.
chunk_part attend(const float* q, const float* k, const float* v,
                  std::int64_t positions, std::int64_t width, int dim,
                  float scale) {
  chunk_part part;
  std::vector<float> scores(static_cast<std::size_t>(positions));
  for (std::int64_t p = 0; p < positions; ++p) {
    float dot = 0;
    for (int d = 0; d < dim; ++d) dot = std::fma(q[d], k[p * width + d], dot);
    scores[static_cast<std::size_t>(p)] = dot * scale;
    part.largest = std::max(part.largest, dot * scale);
  }
  part.out.assign(static_cast<std::size_t>(dim), 0.0F);
  float lanes[lane_count] = {};
  for (std::int64_t p = 0; p < positions; ++p) {
    const float weight =
        exp_f32(scores[static_cast<std::size_t>(p)] - part.largest);
    lanes[p % lane_count] += weight;
    for (int d = 0; d < dim; ++d) {
      float& sum = part.out[static_cast<std::size_t>(d)];
      sum = std::fma(weight, v[p * width + d], sum);
    }
  }
  part.sum = sum_lanes(lanes);
  return part;
}

/// Appends a chunk to what came before it.
void combine(chunk_part& all, const chunk_part& next) {
  const float largest = std::max(all.largest, next.largest);
  const float before = exp_f32(all.largest - largest);
  const float after = exp_f32(next.largest - largest);
  all.largest = largest;
  all.sum = std::fma(next.sum, after, all.sum * before);
  for (std::size_t d = 0; d < all.out.size(); ++d) {
    all.out[d] = std::fma(next.out[d], after, all.out[d] * before);
  }
}

}  // namespace

void attention(const kv_layout& layout, const std::byte* layer,
               std::span<const attention_rows> sequences, const float* q,
               std::int64_t stride, int heads, float scale, float* out) {
  const int dim = layout.head_dim;
  const std::int64_t width = static_cast<std::int64_t>(layout.kv_heads) * dim;
  const int group = heads / layout.kv_heads;
  for (const auto& s : sequences) {
    const auto rows =
        expand(layout, layer, s.block_table, s.first_position + s.rows);
    for (std::int64_t r = 0; r < s.rows; ++r) {
      const std::int64_t n = s.first_position + r + 1;
      for (int h = 0; h < heads; ++h) {
        const std::int64_t column = static_cast<std::int64_t>(h) * dim;
        const std::int64_t first = (s.first_row + r) * stride + column;
        const std::int64_t kv = static_cast<std::int64_t>(h / group) * dim;
        chunk_part all;
        all.out.assign(static_cast<std::size_t>(dim), 0.0F);
        for (std::int64_t c = 0; c < n; c += attention_chunk_positions) {
          combine(all, attend(q + first, rows.k.data() + c * width + kv,
                              rows.v.data() + c * width + kv,
                              std::min<std::int64_t>(attention_chunk_positions,
                                                     n - c),
                              width, dim, scale));
        }
        const float inverse = 1.0F / all.sum;
        for (int d = 0; d < dim; ++d) {
          out[first + d] = all.out[static_cast<std::size_t>(d)] * inverse;
        }
      }
    }
  }
}

}  // namespace vouch::kernels::reference
