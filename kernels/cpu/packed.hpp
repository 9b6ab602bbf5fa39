#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "kernels/matmul.hpp"
#include "kernels/quant_block.hpp"
#include "kernels/quantize_row.hpp"

namespace vouch::kernels {

/// Outputs whose weights lie interleaved: one tile of W is 16 rows.
inline constexpr int tile_outputs = 16;
/// Inputs of one output that lie side by side (what the 8-bit dot product
/// instructions add up): 64 bytes hold 16 outputs x 4 inputs, a "group".
inline constexpr int group_inputs = 4;

/// Bytes of 32 inputs x 16 outputs inside a tile. Quantised values come first,
/// then the scales. For q < 16 (4 bits) byte 4 * output + i of vector v, 64
/// bytes each, holds input 4v + i in the low and 4(v + 4) + i in the high
/// nibble. Fifth bits add one vector, whose bit g belongs to group g; fifth and
/// sixth bits add two, of four groups each, two bits a group. 8-bit values
/// take eight vectors, one a group.
constexpr std::int64_t value_bytes(int bits) { return 64 * bits; }

/// Scales of a block: binary16 d[16], m[16], or bytes s0[16], s1[16].
constexpr std::int64_t scale_bytes(scale_kind kind) {
  return kind == scale_kind::affine ? 64 : 32;
}

/// Once per 256 inputs, before their first block: binary16 d[16], and m[16].
constexpr std::int64_t header_bytes(scale_kind kind) {
  return kind == scale_kind::super_affine   ? 64
         : kind == scale_kind::super_halves ? 32
                                            : 0;
}

/// Blocks that share a header.
inline constexpr std::int64_t super_blocks = 8;

/// Bytes of a tile: `in` inputs of 16 outputs. Float weights lie as
/// [input][output].
std::int64_t tile_bytes(dtype type, std::int64_t in);

struct packed_weights::impl {
  dtype type{};
  std::int64_t out = 0;
  std::int64_t in = 0;
  std::int64_t tiles = 0;
  std::int64_t bytes_per_tile = 0;
  /// Aligned to 64 bytes.
  std::shared_ptr<std::byte> data;

  const std::byte* tile(std::int64_t index) const {
    return data.get() + index * bytes_per_tile;
  }
};

struct activations::impl {
  const float* x = nullptr;
  /// x, where it was made here or in memory that the caller lent to be written.
  float* made = nullptr;
  std::int64_t rows = 0;
  std::int64_t in = 0;
  bool quantized = false;
  kernel_plan plan = kernel_plan::invariant;
  /// applies_scales_in_turn.
  bool in_turn = false;
  /// [rows][in / 32] when quantized, at least.
  std::vector<activation_block> blocks;
  /// Where rows that no caller keeps are made.
  std::vector<float> floats;

  /// Takes the shape, and says where the 8-bit form goes (null without one).
  activation_block* begin(const float* values, std::int64_t row_count,
                          std::int64_t row_floats, bool quantize);
};

}  // namespace vouch::kernels
