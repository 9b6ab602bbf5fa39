#include "engine/cache/block_pool.hpp"

#include <stdexcept>

namespace vouch::engine {

block_pool::block_pool(std::int32_t blocks)
    : refs_(static_cast<std::size_t>(blocks)),
      cached_(static_cast<std::size_t>(blocks)) {
  free_.reserve(refs_.size());
  for (std::int32_t i = blocks; i-- > 0;) free_.push_back(i);
}

block_id block_pool::take() {
  if (free_.empty()) throw std::logic_error{"block pool: nothing is free"};
  const block_id block = free_.back();
  free_.pop_back();
  refs_[index(block)] = 1;
  return block;
}

void block_pool::add_reference(block_id block) {
  auto& refs = refs_.at(index(block));
  if (refs == 0) throw std::logic_error{"block pool: block is free"};
  if (refs == 1 && cached_[index(block)]) --only_cached_;
  ++refs;
}

void block_pool::drop_reference(block_id block) {
  auto& refs = refs_.at(index(block));
  if (refs == 0) throw std::logic_error{"block pool: block is free already"};
  if (refs == 1 && cached_[index(block)]) {
    throw std::logic_error{"block pool: the cache still holds the block"};
  }
  --refs;
  if (refs == 1 && cached_[index(block)]) ++only_cached_;
  if (refs == 0) free_.push_back(block);
}

void block_pool::set_cached(block_id block, bool cached) {
  const auto i = index(block);
  if (cached_.at(i) == cached) return;
  cached_[i] = cached;
  if (refs_[i] == 1) only_cached_ += cached ? 1 : -1;
}

}  // namespace vouch::engine
