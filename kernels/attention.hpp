#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "kernels/kv_layout.hpp"
#include "kernels/thread_pool.hpp"

namespace vouch::kernels {

/// Positions a chunk of attention covers: chunk c is [c * S, (c + 1) * S) in
/// absolute positions, whatever the query, the batch or the cut of a prefill.
inline constexpr int attention_chunk_positions = 256;

/// One sequence's consecutive query rows in a step.
struct attention_rows {
  /// Block ids; entry p / kv_block_tokens holds position p.
  const std::int32_t* block_table = nullptr;
  /// Index of the sequence's first row in q and out.
  std::int64_t first_row = 0;
  std::int64_t rows = 0;
  /// Absolute position of the first row; row i attends to positions
  /// 0 ... first_position + i, all of them stored already (this step's too).
  std::int64_t first_position = 0;
};

/// Scratch kept from call to call.
struct attention_scratch {
  std::vector<float> partials;
};

/// Causal grouped-query attention over paged K and V, one kernel for prefill,
/// decode and verify: scores in float32, a per-row softmax inside each chunk,
/// chunks combined in order in float32. q, out: [rows][heads * head_dim], rows
/// `stride` floats apart. `layer` as in kv_write.
void attention(const kv_layout& layout, const std::byte* layer,
               std::span<const attention_rows> sequences, const float* q,
               std::int64_t stride, int heads, float scale, float* out,
               attention_scratch& scratch, thread_pool& pool);

namespace reference {
void attention(const kv_layout& layout, const std::byte* layer,
               std::span<const attention_rows> sequences, const float* q,
               std::int64_t stride, int heads, float scale, float* out);
}  // namespace reference

}  // namespace vouch::kernels
