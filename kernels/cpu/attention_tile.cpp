// One tile of queries against one chunk of positions, for every target; the
// order of operations is that of reference/attention.cpp.
#include "kernels/cpu/attention_tile.hpp"

#include <algorithm>
#include <limits>

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

  const std::byte* layer;
  const std::int32_t* table;
  std::size_t block_bytes;
  std::int64_t head;
  std::int64_t values;
};

/// Blocks whose K is asked for ahead of the block at hand. The pieces of a head
/// lie far apart, and the hardware's own prefetcher finds each of them anew.
constexpr std::int64_t prefetch_blocks = 4;

/// Line by line, between the arithmetic: a burst would only queue up.
template <class Element>
HWY_INLINE void prefetch_row(const Element* piece, std::int64_t begin,
                             std::int64_t end) {
  constexpr std::int64_t line = 64 / sizeof(Element);
  for (std::int64_t i = begin / line * line; i < end; i += line) {
    __builtin_prefetch(piece + i, 0, 2);
  }
}

using score_rows = float[tile_queries][attention_chunk_positions];

/// Scores of `n` queries against `blocks` consecutive blocks. Meanwhile K of
/// later blocks and V of these are asked for.
template <class Element, int n, int blocks>
HWY_INLINE void score_blocks(const attention_tile& tile, int first,
                             const chunk_view<Element>& view, std::int64_t j,
                             std::int64_t last, score_rows& scores) {
  f32x16 acc[blocks][n];
  const Element* k[blocks];
  const Element* soon[2 * blocks];
  for (int b = 0; b < blocks; ++b) {
    k[b] = view.k(j + b);
    soon[2 * b] = view.k(std::min(j + b + prefetch_blocks, last));
    soon[2 * b + 1] = view.v(j + b);
    for (int t = 0; t < n; ++t) acc[b][t] = zero();
  }
  const float* q[n];
  for (int t = 0; t < n; ++t) q[t] = tile.q[first + t];
  constexpr int step = 64 / sizeof(Element) / kv_block_tokens;
  const int dim = tile.layout->head_dim;
  for (int at = 0; at < dim; at += step) {
    for (const Element* piece : soon) {
      __builtin_prefetch(piece + at * kv_block_tokens, 0, 2);
    }
    HWY_UNROLL(2)
    for (int d = at; d < at + step; ++d) {
      for (int b = 0; b < blocks; ++b) {
        const f32x16 keys = load_kv(k[b] + d * kv_block_tokens);
        for (int t = 0; t < n; ++t) {
          acc[b][t] = fma(set1(q[t][d]), keys, acc[b][t]);
        }
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
template <class Element, int n, int slice, class Ahead>
HWY_INLINE void weigh(const attention_tile& tile,
                      const chunk_view<Element>& view,
                      const score_rows& weights, const std::int64_t* seen,
                      int d, float* out, Ahead&& ahead) {
  const int dim = tile.layout->head_dim;
  f32x16 acc[n][slice];
  for (auto& row : acc) {
    for (auto& a : row) a = zero();
  }
  std::int64_t shared = std::max<std::int64_t>(seen[0], 0);
  for (std::int64_t p = 0; p < shared; ++p) {
    ahead(p);
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

/// Blocks of a chunk that a tile's queries see.
inline std::int64_t blocks_seen(const attention_piece& piece) {
  const auto& tile = *piece.tile;
  const std::int64_t seen = std::min<std::int64_t>(
      tile.seen[tile.queries - 1] - piece.chunk * attention_chunk_positions,
      attention_chunk_positions);
  return (seen + kv_block_tokens - 1) / kv_block_tokens;
}

/// Queries first ... first + n - 1 of the tile.
template <class Element, int n>
void attend(const attention_piece& work, int first, const attention_piece& next,
            attention_part& part) {
  const attention_tile& tile = *work.tile;
  const std::int64_t chunk = work.chunk;
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
  std::int64_t j = 0;
  // Few queries: two blocks at a time, for enough independent chains.
  if constexpr (n <= 4) {
    for (; j + 2 <= blocks; j += 2) {
      score_blocks<Element, n, 2>(tile, first, view, j, blocks - 1, scores);
    }
  }
  for (; j < blocks; ++j) {
    score_blocks<Element, n, 1>(tile, first, view, j, blocks - 1, scores);
  }
  for (int t = 0; t < n; ++t) {
    if (seen[t] > 0) {
      softmax(scores[t], seen[t], &part.largest[first + t],
              &part.sum[first + t]);
    }
  }
  const int dim = tile.layout->head_dim;
  // While V is read, the first K of the next chunk comes.
  std::int64_t ahead_blocks =
      next.tile != nullptr ? std::min(prefetch_blocks, blocks_seen(next)) : 0;
  const chunk_view<Element> next_view =
      ahead_blocks > 0 ? chunk_view<Element>{*next.tile, next.chunk} : view;
  const auto ahead = [&](std::int64_t position) {
    const std::int64_t block = position / kv_block_tokens;
    const std::int64_t row = position % kv_block_tokens;
    if (block < ahead_blocks) {
      prefetch_row(next_view.k(block), row * dim, (row + 1) * dim);
    }
  };
  float* out = part.out + first * most_head_dim;
  int d = 0;
  for (; d + 2 * lane_count <= dim; d += 2 * lane_count) {
    weigh<Element, n, 2>(tile, view, scores, seen, d, out, ahead);
    ahead_blocks = 0;
  }
  if (d < dim) weigh<Element, n, 1>(tile, view, scores, seen, d, out, ahead);
}

template <class Element>
void attend_any(const attention_piece& work, const attention_piece& next,
                attention_part& part) {
  int t = 0;
  const auto left = [&] { return work.tile->queries - t; };
  const auto then = [&](int n) {
    return n == left() ? next : attention_piece{};
  };
#if !VOUCH_EMULATED
  if (left() == 8) return attend<Element, 8>(work, 0, next, part);
  for (; left() >= 4; t += 4) attend<Element, 4>(work, t, then(4), part);
  if (left() == 3) return attend<Element, 3>(work, t, next, part);
  if (left() == 2) return attend<Element, 2>(work, t, next, part);
#endif
  for (; left() > 0; ++t) attend<Element, 1>(work, t, then(1), part);
}

void attend_chunk_on(const attention_piece& work, const attention_piece& next,
                     attention_part& part) {
  if (work.tile->layout->type == dtype::f16) {
    attend_any<std::uint16_t>(work, next, part);
  } else {
    attend_any<float>(work, next, part);
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

void attend_chunk(const attention_piece& piece, const attention_piece& next,
                  attention_part& part) {
  HWY_DYNAMIC_DISPATCH(attend_chunk_on)(piece, next, part);
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
