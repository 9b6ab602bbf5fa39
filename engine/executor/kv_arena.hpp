#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "engine/executor/executor.hpp"
#include "engine/executor/step.hpp"
#include "engine/models/model.hpp"

namespace vouch::engine {

/// The KV pool's memory, mapped once. Pages are zero until they are first
/// written and take no memory before.
class kv_arena {
 public:
  /// Throws std::system_error when the address space cannot be had.
  kv_arena(const kernels::kv_layout& layout, std::int32_t layers,
           std::int32_t blocks);
  ~kv_arena();
  kv_arena(const kv_arena&) = delete;
  kv_arena& operator=(const kv_arena&) = delete;

  const kv_memory& memory() const { return memory_; }

  /// Copies every layer of block `from` over block `to`.
  void copy(const block_copy& work);
  /// K and V of one position as stored, layer after layer.
  std::vector<std::byte> read(const std::vector<block_id>& blocks,
                              std::int32_t position) const;
  /// What is wrong with a range, or empty.
  std::string check(const kv_range& range) const;
  /// hash64 of what read gives, for each position of a range that is in order.
  std::vector<std::uint64_t> hash(const kv_range& range,
                                  kernels::thread_pool& pool) const;

 private:
  kv_memory memory_;
  std::int32_t layers_;
  std::size_t bytes_;
};

}  // namespace vouch::engine
