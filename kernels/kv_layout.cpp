#include "kernels/kv_layout.hpp"

#include <cstring>
#include <type_traits>

#include "kernels/kv_block_map.hpp"

namespace vouch::kernels {

std::size_t kv_layout::block_bytes() const {
  return 2 * row_bytes(type, static_cast<std::int64_t>(kv_heads) * head_dim) *
         kv_block_tokens;
}

namespace {

/// move(size, i, k, v) for every element of a position: its bytes, where it
/// lies in a row of kv_read's, and where in the layer as K and as V.
template <std::size_t size, class Move>
void for_each_element(const kv_layout& layout, std::size_t block,
                      std::size_t token, Move&& move) {
  const block_map map{layout};
  for (std::size_t h = 0; h < static_cast<std::size_t>(layout.kv_heads); ++h) {
    for (std::size_t d = 0; d < map.dim; ++d) {
      move(std::integral_constant<std::size_t, size>{},
           size * (h * map.dim + d), block + size * map.k(h, d, token),
           block + size * map.v(h, d, token));
    }
  }
}

template <class Move>
void for_each_element(const kv_layout& layout, const std::int32_t* block_table,
                      std::int64_t position, Move&& move) {
  const auto token = static_cast<std::size_t>(position % kv_block_tokens);
  const auto id =
      static_cast<std::size_t>(block_table[position / kv_block_tokens]);
  const std::size_t block = id * layout.block_bytes();
  if (layout.type == dtype::f32) {
    for_each_element<4>(layout, block, token, move);
  } else {
    for_each_element<2>(layout, block, token, move);
  }
}

}  // namespace

void kv_read(const kv_layout& layout, const std::byte* layer,
             const std::int32_t* block_table, std::int64_t position,
             std::byte* k, std::byte* v) {
  for_each_element(layout, block_table, position,
                   [&](auto size, std::size_t i, std::size_t stored_k,
                       std::size_t stored_v) {
                     std::memcpy(k + i, layer + stored_k, size);
                     std::memcpy(v + i, layer + stored_v, size);
                   });
}

void kv_restore(const kv_layout& layout, std::byte* layer,
                const std::int32_t* block_table, std::int64_t position,
                const std::byte* k, const std::byte* v) {
  for_each_element(layout, block_table, position,
                   [&](auto size, std::size_t i, std::size_t stored_k,
                       std::size_t stored_v) {
                     std::memcpy(layer + stored_k, k + i, size);
                     std::memcpy(layer + stored_v, v + i, size);
                   });
}

}  // namespace vouch::kernels
