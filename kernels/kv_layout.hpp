#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/dtype.hpp"

namespace vouch::kernels {

/// Tokens in one KV block.
inline constexpr int kv_block_tokens = 16;

/// Shape of one layer's KV rows. How K and V lie inside a block is the kernels'
/// own business; the rest of the program copies whole blocks and reads single
/// rows through the functions below.
struct kv_layout {
  int kv_heads = 0;
  int head_dim = 0;
  /// f16 or f32.
  dtype type = dtype::f16;

  /// Bytes of one block of one layer: K and V of kv_block_tokens tokens.
  std::size_t block_bytes() const;
};

/// Reads the K and V of one position back as stored, as raw bytes in
/// [head][dimension] order: kv_heads * head_dim elements of `type` each.
void kv_read(const kv_layout& layout, const std::byte* layer,
             const std::int32_t* block_table, std::int64_t position,
             std::byte* k, std::byte* v);

/// Writes what kv_read reads.
void kv_restore(const kv_layout& layout, std::byte* layer,
                const std::int32_t* block_table, std::int64_t position,
                const std::byte* k, const std::byte* v);

}  // namespace vouch::kernels
