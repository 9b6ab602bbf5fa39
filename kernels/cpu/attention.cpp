// How attention is shared out: tiles of queries, and for few tiles with long
// contexts their chunks too. The chunks of a row are combined in order either
// way, so the bytes are the same.
#include "kernels/attention.hpp"

#include <algorithm>

#include "kernels/cpu/attention_tile.hpp"

namespace vouch::kernels {

namespace {

std::vector<attention_tile> make_tiles(
    const kv_layout& layout, const std::byte* layer,
    std::span<const attention_rows> sequences, const float* q,
    std::int64_t stride, int heads, float scale, float* out) {
  const std::int64_t group = heads / layout.kv_heads;
  std::vector<attention_tile> tiles;
  for (const auto& s : sequences) {
    const std::int64_t queries = s.rows * group;
    for (int head = 0; head < layout.kv_heads; ++head) {
      for (std::int64_t i = 0; i < queries; i += tile_queries) {
        attention_tile& tile = tiles.emplace_back();
        tile = {
            &layout,
            layer,
            s.block_table,
            head,
            static_cast<int>(std::min<std::int64_t>(tile_queries, queries - i)),
            scale,
            {},
            {},
            {}};
        for (int t = 0; t < tile.queries; ++t) {
          const std::int64_t row = (i + t) / group;
          const std::int64_t at =
              (s.first_row + row) * stride +
              (head * group + (i + t) % group) * layout.head_dim;
          tile.q[t] = q + at;
          tile.out[t] = out + at;
          tile.seen[t] = s.first_position + row + 1;
        }
      }
    }
  }
  return tiles;
}

/// `next`: the tile that follows, or nullptr.
void run_tile(const attention_tile& tile, const attention_tile* next) {
  attention_part part;
  attention_part all;
  begin_combine(tile, all);
  for (std::int64_t c = 0; c < tile.chunks(); ++c) {
    const bool last = c + 1 == tile.chunks();
    attend_chunk(
        {&tile, c},
        last ? attention_piece{next, 0} : attention_piece{&tile, c + 1}, part);
    combine_chunk(tile, c, part, all);
  }
  finish_combine(tile, all);
}

/// Every chunk of every tile for itself, then the combinations.
void run_chunks(std::span<const attention_tile> tiles,
                attention_scratch& scratch, thread_pool& pool) {
  std::vector<std::int64_t> first(tiles.size() + 1);
  for (std::size_t i = 0; i < tiles.size(); ++i) {
    first[i + 1] = first[i] + tiles[i].chunks();
  }
  constexpr std::size_t part_floats = sizeof(attention_part) / sizeof(float);
  scratch.partials.resize(part_floats * static_cast<std::size_t>(first.back()));
  const auto part = [&](std::int64_t i) -> attention_part& {
    return *reinterpret_cast<attention_part*>(
        scratch.partials.data() + part_floats * static_cast<std::size_t>(i));
  };
  const auto piece = [&](std::int64_t i) -> attention_piece {
    if (i >= first.back()) return {};
    const auto tile = static_cast<std::size_t>(
        std::upper_bound(first.begin(), first.end(), i) - first.begin() - 1);
    return {&tiles[tile], i - first[tile]};
  };
  pool.parallel_for(first.back(), [&](std::int64_t i) {
    attend_chunk(piece(i), piece(i + 1), part(i));
  });
  pool.parallel_for(
      static_cast<std::int64_t>(tiles.size()), [&](std::int64_t t) {
        const auto& tile = tiles[static_cast<std::size_t>(t)];
        attention_part all;
        begin_combine(tile, all);
        for (std::int64_t c = 0; c < tile.chunks(); ++c) {
          combine_chunk(tile, c, part(first[static_cast<std::size_t>(t)] + c),
                        all);
        }
        finish_combine(tile, all);
      });
}

}  // namespace

void attention(const kv_layout& layout, const std::byte* layer,
               std::span<const attention_rows> sequences, const float* q,
               std::int64_t stride, int heads, float scale, float* out,
               attention_scratch& scratch, thread_pool& pool) {
  if (layout.head_dim % 16 != 0 || layout.head_dim > most_head_dim) {
    pool.parallel_for(
        static_cast<std::int64_t>(sequences.size()), [&](std::int64_t i) {
          reference::attention(
              layout, layer, sequences.subspan(static_cast<std::size_t>(i), 1),
              q, stride, heads, scale, out);
        });
    return;
  }
  const auto tiles =
      make_tiles(layout, layer, sequences, q, stride, heads, scale, out);
  const auto few = static_cast<std::size_t>(pool.size()) * 4;
  const bool long_context =
      std::any_of(tiles.begin(), tiles.end(),
                  [](const auto& tile) { return tile.chunks() > 1; });
  if (pool.size() > 1 && tiles.size() < few && long_context) {
    return run_chunks(tiles, scratch, pool);
  }
  pool.parallel_for(
      static_cast<std::int64_t>(tiles.size()), [&](std::int64_t i) {
        const auto* tile = tiles.data() + i;
        run_tile(*tile, tile == &tiles.back() ? nullptr : tile + 1);
      });
}

}  // namespace vouch::kernels
