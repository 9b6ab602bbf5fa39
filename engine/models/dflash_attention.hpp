#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "engine/models/dflash_config.hpp"
#include "kernels/attention.hpp"
#include "kernels/kv_layout.hpp"
#include "kernels/thread_pool.hpp"

namespace vouch::engine {

/// A block's queries and the K and V they may see: `context` rows followed by
/// the block's own `rows`, all stored already.
struct dflash_block {
  /// f32.
  kernels::kv_layout layout;
  const std::byte* layer = nullptr;
  const std::int32_t* block_table = nullptr;
  std::int64_t context = 0;
  std::int64_t rows = 0;
  int heads = 0;
};

/// Grouped-query attention of a block under `mask`; query, out: [rows][heads *
/// head_dim]. Every sum has one order, given by positions alone, so drafts are
/// a function of their inputs. Without a window that cuts something it is the
/// kernels' attention, which bidirectional rows enter as if each stood last.
void dflash_attention(const dflash_block& block, const dflash_mask& mask,
                      const float* query, float scale, float* out,
                      kernels::attention_scratch& scratch,
                      kernels::thread_pool& pool);

}  // namespace vouch::engine
