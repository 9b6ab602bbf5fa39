#pragma once

#include <cstddef>

#include "kernels/kv_layout.hpp"

namespace vouch::kernels {

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

}  // namespace vouch::kernels
