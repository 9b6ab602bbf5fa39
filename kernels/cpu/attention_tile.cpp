// One tile of queries against one chunk of positions, for every target; the
// order of operations is that of reference/attention.cpp.
#include "kernels/cpu/attention_tile.hpp"

#include <algorithm>
#include <limits>

#include <hwy/cache_control.h>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/attention_tile.cpp"
#include <hwy/foreach_target.h>

#include "kernels/cpu/vec-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace vouch::kernels {
namespace HWY_NAMESPACE {

template <class Element>
HWY_INLINE f32x16 load_kv(const Element* p) {
  if constexpr (sizeof(Element) == 4) {
    return load(p);
  } else {
    return load_f16(p);
  }
}

/// Where the tile's head lies in the blocks of a chunk.
template <class Element>
struct chunk_view {
  chunk_view(const attention_tile& tile, std::int64_t chunk)
      : layer{tile.layer},
        table{tile.block_table +
              chunk * (attention_chunk_positions / kv_block_tokens)},
        block_bytes{tile.layout->block_bytes()},
        head{static_cast<std::int64_t>(tile.kv_head) * tile.layout->head_dim *
             kv_block_tokens},
        values{static_cast<std::int64_t>(tile.layout->kv_heads) *
               tile.layout->head_dim * kv_block_tokens} {}

  /// [dimension][token] of block j of the chunk.
  const Element* k(std::int64_t j) const {
    return reinterpret_cast<const Element*>(
               layer + static_cast<std::size_t>(table[j]) * block_bytes) +
           head;
  }
  /// [token][dimension].
  const Element* v(std::int64_t j) const { return k(j) + values; }

  /// Asks for one head's K or V of a block: the pieces lie far apart, and the
  /// hardware's prefetcher finds each of them anew.
  void prefetch(const Element* piece, std::int64_t elements) const {
    constexpr std::int64_t line = 64 / sizeof(Element);
    for (std::int64_t i = 0; i < elements; i += line) hwy::Prefetch(piece + i);
  }

  const std::byte* layer;
  const std::int32_t* table;
  std::size_t block_bytes;
  std::int64_t head;
  std::int64_t values;
};

/// Blocks of K that are asked for ahead of the one at hand.
constexpr std::int64_t prefetch_blocks = 3;

using score_rows = float[tile_queries][attention_chunk_positions];

/// Scores of `n` queries against `blocks` consecutive blocks.
template <class Element, int n, int blocks>
HWY_INLINE void score_blocks(const attention_tile& tile, int first,
                             const chunk_view<Element>& view, std::int64_t j,
                             score_rows& scores) {
  f32x16 acc[blocks][n];
  const Element* k[blocks];
  for (int b = 0; b < blocks; ++b) {
    k[b] = view.k(j + b);
    for (int t = 0; t < n; ++t) acc[b][t] = zero();
  }
  const int dim = tile.layout->head_dim;
  for (int d = 0; d < dim; ++d) {
    for (int b = 0; b < blocks; ++b) {
      const f32x16 keys = load_kv(k[b] + d * kv_block_tokens);
      for (int t = 0; t < n; ++t) {
        acc[b][t] = fma(set1(tile.q[first + t][d]), keys, acc[b][t]);
      }
    }
  }
  const f32x16 scale = set1(tile.scale);
  for (int b = 0; b < blocks; ++b) {
    for (int t = 0; t < n; ++t) {
      store(acc[b][t] * scale, scores[t] + (j + b) * kv_block_tokens);
    }
  }
}

/// Scores become weights exp(score - largest); what lies behind `seen` is
/// selected away before anything is made of it.
HWY_INLINE void softmax(float* scores, std::int64_t seen, float* top,
                        float* total) {
  const std::int64_t end = (seen + lane_count - 1) / lane_count * lane_count;
  for (std::int64_t p = seen; p < end; ++p) {
    scores[p] = -std::numeric_limits<float>::infinity();
  }
  f32x16 best = load(scores);
  for (std::int64_t p = lane_count; p < end; p += lane_count) {
    best = max(best, load(scores + p));
  }
  *top = largest(best);
  f32x16 sums = zero();
  for (std::int64_t p = 0; p < end; p += lane_count) {
    const f32x16 weights = exp(load(scores + p) - set1(*top));
    sums = sums + weights;
    store(weights, scores + p);
  }
  *total = sum(sums);
}

/// Dimensions d ... of the weighted values: positions in order, first those
/// that all queries see, then each query's own rest.
template <class Element, int n, int slice>
HWY_INLINE void weigh(const attention_tile& tile,
                      const chunk_view<Element>& view,
                      const score_rows& weights, const std::int64_t* seen,
                      int d, float* out) {
  const int dim = tile.layout->head_dim;
  f32x16 acc[n][slice];
  for (auto& row : acc) {
    for (auto& a : row) a = zero();
  }
  std::int64_t shared = std::max<std::int64_t>(seen[0], 0);
  for (std::int64_t p = 0; p < shared; ++p) {
    const Element* v =
        view.v(p / kv_block_tokens) + p % kv_block_tokens * dim + d;
    for (int s = 0; s < slice; ++s) {
      const f32x16 values = load_kv(v + s * lane_count);
      for (int t = 0; t < n; ++t) {
        acc[t][s] = fma(set1(weights[t][p]), values, acc[t][s]);
      }
    }
  }
  for (int t = 0; t < n; ++t) {
    for (std::int64_t p = shared; p < seen[t]; ++p) {
      const Element* v =
          view.v(p / kv_block_tokens) + p % kv_block_tokens * dim + d;
      for (int s = 0; s < slice; ++s) {
        acc[t][s] =
            fma(set1(weights[t][p]), load_kv(v + s * lane_count), acc[t][s]);
      }
    }
    for (int s = 0; s < slice; ++s) {
      store(acc[t][s], out + t * most_head_dim + d + s * lane_count);
    }
  }
}

/// Queries first ... first + n - 1 of the tile.
template <class Element, int n>
void attend(const attention_tile& tile, int first, std::int64_t chunk,
            attention_part& part) {
  const chunk_view<Element> view{tile, chunk};
  std::int64_t seen[n];
  for (int t = 0; t < n; ++t) {
    seen[t] = std::min<std::int64_t>(
        tile.seen[first + t] - chunk * attention_chunk_positions,
        attention_chunk_positions);
  }
  alignas(64) score_rows scores;
  const std::int64_t blocks =
      (seen[n - 1] + kv_block_tokens - 1) / kv_block_tokens;
  const std::int64_t piece =
      static_cast<std::int64_t>(tile.layout->head_dim) * kv_block_tokens;
  // K a few blocks ahead, V as early as its block's scores.
  const auto prefetch = [&](std::int64_t block) {
    if (block + prefetch_blocks < blocks) {
      view.prefetch(view.k(block + prefetch_blocks), piece);
    }
    view.prefetch(view.v(block), piece);
  };
  for (std::int64_t b = 0; b < std::min(prefetch_blocks, blocks); ++b) {
    view.prefetch(view.k(b), piece);
  }
  std::int64_t j = 0;
  // Few queries: two blocks at a time, for enough independent chains.
  if constexpr (n <= 4) {
    for (; j + 2 <= blocks; j += 2) {
      prefetch(j);
      prefetch(j + 1);
      score_blocks<Element, n, 2>(tile, first, view, j, scores);
    }
  }
  for (; j < blocks; ++j) {
    prefetch(j);
    score_blocks<Element, n, 1>(tile, first, view, j, scores);
  }
  for (int t = 0; t < n; ++t) {
    if (seen[t] > 0) {
      softmax(scores[t], seen[t], &part.largest[first + t],
              &part.sum[first + t]);
    }
  }
  const int dim = tile.layout->head_dim;
  float* out = part.out + first * most_head_dim;
  int d = 0;
  for (; d + 2 * lane_count <= dim; d += 2 * lane_count) {
    weigh<Element, n, 2>(tile, view, scores, seen, d, out);
  }
  if (d < dim) weigh<Element, n, 1>(tile, view, scores, seen, d, out);
}

template <class Element>
void attend_any(const attention_tile& tile, std::int64_t chunk,
                attention_part& part) {
  int t = 0;
  const auto left = [&] { return tile.queries - t; };
#if !VOUCH_EMULATED
  if (left() == 8) return attend<Element, 8>(tile, 0, chunk, part);
  for (; left() >= 4; t += 4) attend<Element, 4>(tile, t, chunk, part);
  if (left() == 3) return attend<Element, 3>(tile, t, chunk, part);
  if (left() == 2) return attend<Element, 2>(tile, t, chunk, part);
#endif
  for (; left() > 0; ++t) attend<Element, 1>(tile, t, chunk, part);
}

void attend_chunk_on(const attention_tile& tile, std::int64_t chunk,
                     attention_part& part) {
  if (tile.layout->type == dtype::f16) {
    attend_any<std::uint16_t>(tile, chunk, part);
  } else {
    attend_any<float>(tile, chunk, part);
  }
}

void combine_on(const attention_tile& tile, std::int64_t chunk,
                const attention_part& part, attention_part& all) {
  const int dim = tile.layout->head_dim;
  for (int t = 0; t < tile.queries; ++t) {
    if (tile.seen[t] <= chunk * attention_chunk_positions) continue;
    const float top = std::max(all.largest[t], part.largest[t]);
    const float before = exp_f32(all.largest[t] - top);
    const float after = exp_f32(part.largest[t] - top);
    all.largest[t] = top;
    all.sum[t] = std::fma(part.sum[t], after, all.sum[t] * before);
    float* to = all.out + t * most_head_dim;
    const float* from = part.out + t * most_head_dim;
    for (int d = 0; d < dim; d += lane_count) {
      store(fma(load(from + d), set1(after), load(to + d) * set1(before)),
            to + d);
    }
  }
}

void finish_on(const attention_tile& tile, const attention_part& all) {
  for (int t = 0; t < tile.queries; ++t) {
    const f32x16 inverse = set1(1.0F / all.sum[t]);
    for (int d = 0; d < tile.layout->head_dim; d += lane_count) {
      store(load(all.out + t * most_head_dim + d) * inverse, tile.out[t] + d);
    }
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace vouch::kernels
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace vouch::kernels {

HWY_EXPORT(attend_chunk_on);
HWY_EXPORT(combine_on);
HWY_EXPORT(finish_on);

void attend_chunk(const attention_tile& tile, std::int64_t chunk,
                  attention_part& part) {
  HWY_DYNAMIC_DISPATCH(attend_chunk_on)(tile, chunk, part);
}

void begin_combine(const attention_tile& tile, attention_part& all) {
  for (int t = 0; t < tile.queries; ++t) {
    all.largest[t] = -std::numeric_limits<float>::infinity();
    all.sum[t] = 0;
    std::fill_n(all.out + t * most_head_dim, tile.layout->head_dim, 0.0F);
  }
}

void combine_chunk(const attention_tile& tile, std::int64_t chunk,
                   const attention_part& part, attention_part& all) {
  HWY_DYNAMIC_DISPATCH(combine_on)(tile, chunk, part, all);
}

void finish_combine(const attention_tile& tile, const attention_part& all) {
  HWY_DYNAMIC_DISPATCH(finish_on)(tile, all);
}

}  // namespace vouch::kernels
#endif  // HWY_ONCE
