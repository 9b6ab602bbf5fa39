#include "engine/models/dflash_attention.hpp"

#include <algorithm>
#include <array>
#include <limits>

#include "kernels/kv_block_map.hpp"
#include "kernels/softmax_weights.hpp"

namespace vouch::engine {

namespace {

using kernels::kv_block_tokens;

/// The stored positions that a row sees: [begin, end).
struct visible {
  std::int64_t begin;
  std::int64_t end;
};

visible visible_to(const dflash_block& block, const dflash_mask& mask,
                   std::int64_t row) {
  const auto position = block.context + row;
  visible result{0, mask.causal ? position + 1 : block.context + block.rows};
  if (mask.window > 0) {
    result.begin = std::max<std::int64_t>(0, position - mask.window + 1);
    result.end = std::min(result.end, position + mask.window);
  }
  return result;
}

/// One row and head over the positions it sees.
class windowed_row {
 public:
  windowed_row(const dflash_block& block, std::size_t head)
      : block_{block}, map_{block.layout}, head_{head} {}

  void run(const float* query, float scale, visible range, float* out) {
    score(query, scale, range);
    const auto count = range.end - range.begin;
    float* weights = scores_.data();
    const auto largest = *std::max_element(weights, weights + count);
    kernels::softmax_weights(weights, count, largest, 1.0F, weights);
    float sum = 0;
    std::fill_n(out, map_.dim, 0.0F);
    for (auto p = range.begin; p < range.end; ++p) {
      const float weight = weights[p - range.begin];
      const float* value = memory(p) + map_.v(head_, 0, token(p));
      for (std::size_t d = 0; d < map_.dim; ++d) out[d] += weight * value[d];
      sum += weight;
    }
    for (std::size_t d = 0; d < map_.dim; ++d) out[d] /= sum;
  }

 private:
  static std::size_t token(std::int64_t position) {
    return static_cast<std::size_t>(position % kv_block_tokens);
  }
  const float* memory(std::int64_t position) const {
    const auto id = static_cast<std::size_t>(
        block_.block_table[position / kv_block_tokens]);
    return reinterpret_cast<const float*>(block_.layer +
                                          id * block_.layout.block_bytes());
  }

  /// Whole blocks at a time, as K lies; of the ends only what is seen is kept.
  void score(const float* query, float scale, visible range) {
    scores_.resize(static_cast<std::size_t>(range.end - range.begin));
    const auto first = range.begin / kv_block_tokens * kv_block_tokens;
    for (auto at = first; at < range.end; at += kv_block_tokens) {
      std::array<float, kv_block_tokens> dots{};
      const float* keys = memory(at) + map_.k(head_, 0, 0);
      for (std::size_t d = 0; d < map_.dim; ++d) {
        const float* key = keys + d * kv_block_tokens;
        for (std::size_t t = 0; t < dots.size(); ++t) {
          dots[t] += query[d] * key[t];
        }
      }
      for (std::size_t t = 0; t < dots.size(); ++t) {
        const auto p = at + static_cast<std::int64_t>(t);
        if (p < range.begin || p >= range.end) continue;
        scores_[static_cast<std::size_t>(p - range.begin)] = dots[t] * scale;
      }
    }
  }

  const dflash_block& block_;
  kernels::block_map map_;
  std::size_t head_;
  std::vector<float> scores_;
};

void attend_windowed(const dflash_block& block, const dflash_mask& mask,
                     const float* query, float scale, float* out,
                     kernels::thread_pool& pool) {
  const auto dim = block.layout.head_dim;
  const auto group = block.heads / block.layout.kv_heads;
  pool.parallel_for(block.rows * block.heads, [&](std::int64_t index) {
    const auto row = index / block.heads;
    const auto head = index % block.heads;
    windowed_row work{block, static_cast<std::size_t>(head / group)};
    work.run(query + index * dim, scale, visible_to(block, mask, row),
             out + index * dim);
  });
}

}  // namespace

void dflash_attention(const dflash_block& block, const dflash_mask& mask,
                      const float* query, float scale, float* out,
                      kernels::attention_scratch& scratch,
                      kernels::thread_pool& pool) {
  const auto all = block.context + block.rows;
  if (mask.window > 0 && mask.window < all) {
    attend_windowed(block, mask, query, scale, out, pool);
    return;
  }
  // Causal rows are one sequence; of the others each is one whose only row is
  // the last.
  std::vector<kernels::attention_rows> sequences;
  if (mask.causal) {
    sequences.push_back({block.block_table, 0, block.rows, block.context});
  } else {
    for (std::int64_t row = 0; row < block.rows; ++row) {
      sequences.push_back({block.block_table, row, 1, all - 1});
    }
  }
  const auto stride = std::int64_t{block.heads} * block.layout.head_dim;
  kernels::attention(block.layout, block.layer, sequences, query, stride,
                     block.heads, scale, out, scratch, pool);
}

}  // namespace vouch::engine
