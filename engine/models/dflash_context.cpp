#include "engine/models/dflash_context.hpp"

#include <algorithm>
#include <numeric>
#include <stdexcept>
#include <string>

namespace vouch::engine {

dflash_context::dflash_context(const kernels::kv_layout& layout,
                               std::int32_t layers, std::int64_t first_position)
    : layout_{layout},
      first_{first_position},
      layers_(static_cast<std::size_t>(layers)) {}

void dflash_context::truncate(std::int64_t end) {
  if (end < first_ || end > this->end()) {
    throw std::out_of_range{"drafter context: cannot cut at " +
                            std::to_string(end) + ", it covers " +
                            std::to_string(first_) + " to " +
                            std::to_string(this->end())};
  }
  rows_ = end - first_;
}

dflash_context dflash_context::prefix(std::int64_t end) const {
  dflash_context copy{layout_, static_cast<std::int32_t>(layers_.size()),
                      first_};
  if (end > first_) copy.reserve(end - first_);
  const auto used = std::min(copy.table_.size(), table_.size());
  for (std::size_t i = 0; i < layers_.size(); ++i) {
    std::copy_n(layers_[i].begin(), used * layout_.block_bytes(),
                copy.layers_[i].begin());
  }
  copy.rows_ = rows_;
  copy.truncate(end);
  return copy;
}

std::size_t dflash_context::bytes() const {
  return layers_.size() * table_.size() * layout_.block_bytes();
}

void dflash_context::reserve(std::int64_t count) {
  const auto blocks =
      static_cast<std::size_t>((rows_ + count + kernels::kv_block_tokens - 1) /
                               kernels::kv_block_tokens);
  if (blocks <= table_.size()) return;
  // resize() alone may take exactly what is asked for, again and again.
  const auto room = blocks + blocks / 2;
  table_.resize(room);
  std::iota(table_.begin(), table_.end(), 0);
  for (auto& memory : layers_) memory.resize(room * layout_.block_bytes());
}

std::byte* dflash_context::layer(std::int32_t index) {
  return layers_[static_cast<std::size_t>(index)].data();
}

const std::byte* dflash_context::layer(std::int32_t index) const {
  return layers_[static_cast<std::size_t>(index)].data();
}

}  // namespace vouch::engine
