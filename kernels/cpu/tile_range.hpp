#pragma once

#include <cstdint>

#include "kernels/cpu/packed.hpp"

namespace vouch::kernels {

/// A piece of a matmul for one thread: some tiles of W times some rows of x.
struct tile_range {
  const packed_weights::impl& w;
  const activations::impl& x;
  float* y;
  std::int64_t y_stride;
  std::int64_t first_tile;
  std::int64_t tiles;
  std::int64_t first_row;
  std::int64_t rows;

  /// Outputs of tile t that exist (the last tile may be partial).
  std::int64_t outputs(std::int64_t t) const {
    const std::int64_t left = w.out - t * tile_outputs;
    return left < tile_outputs ? left : tile_outputs;
  }
};

/// For the target that dispatch has chosen.
void quantized_tiles(const tile_range& range);
void float_tiles(const tile_range& range);
/// Blocks of 32 floats into their 8-bit form.
void quantize_blocks(const float* x, std::int64_t blocks,
                     activation_block* out);

}  // namespace vouch::kernels
