#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "kernels/attention.hpp"
#include "kernels/kv_layout.hpp"

namespace vouch::engine {

/// What a DFlash drafter remembers of one sequence: K and V of every layer for
/// one row a committed token, in order. A row is a function of the tapped
/// hidden row and of its distance from `first_position` alone, so neither the
/// cut of what was appended nor what stood there before shows in its bytes; a
/// sequence whose beginning was not seen (a prefix from the cache) starts cold,
/// at any position, and drafts as one that begins there. Copies are
/// independent.
class dflash_context {
 public:
  dflash_context(const kernels::kv_layout& layout, std::int32_t layers,
                 std::int64_t first_position = 0);

  std::int64_t first_position() const { return first_; }
  /// The position that the next row is for.
  std::int64_t end() const { return first_ + rows_; }
  std::int64_t rows() const { return rows_; }
  /// Forgets the positions from `end` on, after a rollback. Throws
  /// std::out_of_range unless first_position() <= end <= this->end().
  void truncate(std::int64_t end);

  /// A copy of the positions before `end`. Throws like truncate.
  dflash_context prefix(std::int64_t end) const;

  const kernels::kv_layout& layout() const { return layout_; }
  std::int32_t layers() const {
    return static_cast<std::int32_t>(layers_.size());
  }
  /// Bytes held.
  std::size_t bytes() const;

  // For the drafter.

  /// Makes room for `count` rows behind the last one.
  void reserve(std::int64_t count);
  /// Takes `count` rows behind the last one as written.
  void commit(std::int64_t count) { rows_ += count; }
  std::byte* layer(std::int32_t index);
  const std::byte* layer(std::int32_t index) const;
  /// Row i of the memory is position i of these.
  const std::int32_t* block_table() const { return table_.data(); }

 private:
  kernels::kv_layout layout_;
  std::int64_t first_;
  std::int64_t rows_ = 0;
  /// 0, 1, 2, ...: each layer's blocks lie in order.
  std::vector<std::int32_t> table_;
  std::vector<std::vector<std::byte>> layers_;
};

}  // namespace vouch::engine
