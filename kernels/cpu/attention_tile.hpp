#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/attention.hpp"

namespace vouch::kernels {

/// Query vectors that share one pass over K and V: consecutive (row, head of
/// the group) pairs of one sequence and one KV head.
inline constexpr int tile_queries = 8;
/// Largest head dimension of the fast kernel; others take the reference.
inline constexpr int most_head_dim = 256;

struct attention_tile {
  const kv_layout* layout;
  const std::byte* layer;
  const std::int32_t* block_table;
  int kv_head;
  int queries;
  float scale;
  const float* q[tile_queries];
  float* out[tile_queries];
  /// Positions that each query sees: 0 ... seen - 1.
  std::int64_t seen[tile_queries];

  /// Of the last query, which sees the most.
  std::int64_t chunks() const {
    return (seen[queries - 1] + attention_chunk_positions - 1) /
           attention_chunk_positions;
  }
};

/// Per query of a tile: the largest score of a chunk, the sum of exp(score -
/// largest), the values weighted by those ([query][head_dim]).
struct attention_part {
  float largest[tile_queries];
  float sum[tile_queries];
  float out[tile_queries * most_head_dim];
};

/// A chunk of a tile.
struct attention_piece {
  const attention_tile* tile = nullptr;
  std::int64_t chunk = 0;
};

/// One chunk of a tile. Queries that do not see it are left out. `next`: what
/// this thread will most likely do next, whose K is asked for in advance; may
/// be empty.
void attend_chunk(const attention_piece& piece, const attention_piece& next,
                  attention_part& part);
/// Starts a running result, appends a chunk to it, writes the final rows.
void begin_combine(const attention_tile& tile, attention_part& all);
void combine_chunk(const attention_tile& tile, std::int64_t chunk,
                   const attention_part& part, attention_part& all);
void finish_combine(const attention_tile& tile, const attention_part& all);

}  // namespace vouch::kernels
