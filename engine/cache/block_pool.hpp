#pragma once

#include <cstdint>
#include <vector>

#include "engine/types.hpp"

namespace vouch::engine {

/// Tokens of one KV block. The prefix cache's unit as well.
inline constexpr std::int64_t block_tokens = 16;

/// Blocks that hold `rows` rows.
constexpr std::int64_t blocks_for(std::int64_t rows) {
  return (rows + block_tokens - 1) / block_tokens;
}

/// Who holds which KV block: a reference count a block, and a free list. Pure
/// bookkeeping; the memory is the executor's.
class block_pool {
 public:
  explicit block_pool(std::int32_t blocks);

  std::int32_t size() const { return static_cast<std::int32_t>(refs_.size()); }
  std::int32_t free() const { return static_cast<std::int32_t>(free_.size()); }

  /// A free block with one reference. The pool must not be empty.
  block_id take();
  void add_reference(block_id block);
  /// Drops a reference; at zero the block is free again.
  void drop_reference(block_id block);
  std::int32_t references(block_id block) const { return refs_[index(block)]; }

  /// One of a block's references is the prefix cache's.
  void set_cached(block_id block, bool cached);
  /// Blocks whose only reference is the prefix cache's: as good as free.
  std::int32_t only_cached() const { return only_cached_; }

 private:
  static std::size_t index(block_id block) {
    return static_cast<std::size_t>(block);
  }

  std::vector<std::int32_t> refs_;
  std::vector<bool> cached_;
  /// Last in, first out: a small working set stays small.
  std::vector<block_id> free_;
  std::int32_t only_cached_ = 0;
};

}  // namespace vouch::engine
