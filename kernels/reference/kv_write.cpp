#include "kernels/kv_write.hpp"

#include <cstring>

#include "kernels/float16.hpp"
#include "kernels/kv_block_map.hpp"

namespace vouch::kernels::reference {

namespace {

void store(dtype type, std::byte* block, std::size_t index, float value) {
  if (type == dtype::f16) {
    const std::uint16_t bits = f32_to_f16(value);
    std::memcpy(block + 2 * index, &bits, 2);
  } else {
    std::memcpy(block + 4 * index, &value, 4);
  }
}

}  // namespace

void kv_write(const kv_layout& layout, std::byte* layer,
              const std::int32_t* block_table, std::int64_t first_position,
              std::int64_t rows, const float* k, const float* v,
              std::int64_t stride) {
  const block_map map{layout};
  const auto heads = static_cast<std::size_t>(layout.kv_heads);
  for (std::int64_t r = 0; r < rows; ++r) {
    const std::int64_t position = first_position + r;
    const auto token = static_cast<std::size_t>(position % kv_block_tokens);
    const auto id =
        static_cast<std::size_t>(block_table[position / kv_block_tokens]);
    std::byte* block = layer + id * layout.block_bytes();
    const float* k_row = k + r * stride;
    const float* v_row = v + r * stride;
    for (std::size_t h = 0; h < heads; ++h) {
      for (std::size_t d = 0; d < map.dim; ++d) {
        store(layout.type, block, map.k(h, d, token), k_row[h * map.dim + d]);
        store(layout.type, block, map.v(h, d, token), v_row[h * map.dim + d]);
      }
    }
  }
}

}  // namespace vouch::kernels::reference
