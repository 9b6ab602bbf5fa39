#include "kernels/kv_layout.hpp"

#include <cstring>

#include "kernels/kv_block_map.hpp"

namespace vouch::kernels {

std::size_t kv_layout::block_bytes() const {
  return 2 * row_bytes(type, static_cast<std::int64_t>(kv_heads) * head_dim) *
         kv_block_tokens;
}

void kv_read(const kv_layout& layout, const std::byte* layer,
             const std::int32_t* block_table, std::int64_t position,
             std::byte* k, std::byte* v) {
  const block_map map{layout};
  const std::size_t size = row_bytes(layout.type, 1);
  const auto token = static_cast<std::size_t>(position % kv_block_tokens);
  const auto id =
      static_cast<std::size_t>(block_table[position / kv_block_tokens]);
  const std::byte* block = layer + id * layout.block_bytes();
  for (std::size_t h = 0; h < static_cast<std::size_t>(layout.kv_heads); ++h) {
    for (std::size_t d = 0; d < map.dim; ++d) {
      const std::size_t i = h * map.dim + d;
      std::memcpy(k + size * i, block + size * map.k(h, d, token), size);
      std::memcpy(v + size * i, block + size * map.v(h, d, token), size);
    }
  }
}

}  // namespace vouch::kernels
