#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "kernels/attention.hpp"
#include "kernels/kv_layout.hpp"
#include "kernels/thread_pool.hpp"

namespace vouch::kernels {

/// Stores the rows of k and v ([rows][kv_heads * head_dim], rows `stride`
/// floats apart) at the positions and in the blocks that `sequences` name.
/// `layer` is the layer's base: block b starts at layer + b * block_bytes().
void kv_write(const kv_layout& layout, std::byte* layer,
              std::span<const attention_rows> sequences, const float* k,
              const float* v, std::int64_t stride, thread_pool& pool);

namespace reference {
/// The rows of one sequence, `first_position` and on.
void kv_write(const kv_layout& layout, std::byte* layer,
              const std::int32_t* block_table, std::int64_t first_position,
              std::int64_t rows, const float* k, const float* v,
              std::int64_t stride);
}  // namespace reference

}  // namespace vouch::kernels
