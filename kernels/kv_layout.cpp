#include "kernels/kv_layout.hpp"

#include <cstring>

#include "kernels/float16.hpp"

namespace vouch::kernels {

namespace {

/// Offsets, in elements, inside one layer's block. K of a head lies transposed,
/// [dimension][token], so that the scores of 16 tokens are one vector; V lies
/// [token][dimension]. All K heads come first, then all V heads.
struct block_map {
  explicit block_map(const kv_layout& layout)
      : dim{static_cast<std::size_t>(layout.head_dim)},
        values{static_cast<std::size_t>(layout.kv_heads) * dim *
               kv_block_tokens} {}

  std::size_t k(std::size_t head, std::size_t d, std::size_t token) const {
    return (head * dim + d) * kv_block_tokens + token;
  }
  std::size_t v(std::size_t head, std::size_t d, std::size_t token) const {
    return values + (head * kv_block_tokens + token) * dim + d;
  }

  std::size_t dim;
  std::size_t values;
};

void store(dtype type, std::byte* block, std::size_t index, float value) {
  if (type == dtype::f16) {
    const std::uint16_t bits = f32_to_f16(value);
    std::memcpy(block + 2 * index, &bits, 2);
  } else {
    std::memcpy(block + 4 * index, &value, 4);
  }
}

}  // namespace

std::size_t kv_layout::block_bytes() const {
  return 2 * row_bytes(type, static_cast<std::int64_t>(kv_heads) * head_dim) *
         kv_block_tokens;
}

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
