#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "kernels/thread_pool.hpp"

namespace vouch::kernels {

/// Cosines and sines by absolute position: one table for every phase, so that
/// prefill, decode and verify rotate alike.
class rope_table {
 public:
  rope_table() = default;
  /// `inverse_frequencies` has d_rot / 2 entries; angle(p, i) = p * inverse
  /// frequency i, in float32; both functions are scaled by `attention_factor`
  /// (1 but for YaRN).
  rope_table(std::span<const float> inverse_frequencies, std::int64_t positions,
             float attention_factor = 1.0F);

  std::int64_t positions() const { return positions_; }
  /// Rotary dimensions, d_rot.
  int dimensions() const { return 2 * half_; }
  /// [d_rot / 2] each, for one position.
  const float* cosines(std::int64_t position) const;
  const float* sines(std::int64_t position) const;

 private:
  int half_ = 0;
  std::int64_t positions_ = 0;
  std::vector<float> values_;
};

/// Rotates the first d_rot dimensions of every head in place, half-split
/// pairing (i, i + d_rot/2). x: [rows][heads * head_dim], rows `stride` floats
/// apart; positions: [rows].
void rope(float* x, std::int64_t stride, std::int64_t rows, int heads,
          int head_dim, const std::int32_t* positions, const rope_table& table,
          thread_pool& pool);

namespace reference {
void rope(float* x, std::int64_t stride, std::int64_t rows, int heads,
          int head_dim, const std::int32_t* positions, const rope_table& table);
}  // namespace reference

}  // namespace vouch::kernels
