#include "engine/cache/prefix_cache.hpp"

#include <algorithm>
#include <stdexcept>

namespace vouch::engine {
namespace {

/// More of them follow the order of use more closely.
constexpr std::int32_t ages_in_pool = 2;

constexpr std::uint64_t root_hash = 0x9e3779b97f4a7c15ULL;

/// Chains a block's tokens onto its parent's hash, mixing each with the
/// finaliser of splitmix64 (Steele, Lea, Flood 2014).
std::uint64_t chain_hash(std::uint64_t parent,
                         const prefix_cache::block_key& tokens) {
  std::uint64_t h = parent;
  for (const token_id token : tokens) {
    h += root_hash + static_cast<std::uint32_t>(token);
    h = (h ^ (h >> 30)) * 0xbf58476d1ce4e5b9ULL;
    h = (h ^ (h >> 27)) * 0x94d049bb133111ebULL;
    h ^= h >> 31;
  }
  return h;
}

prefix_cache::block_key key_of(std::span<const token_id> tokens) {
  if (tokens.size() != static_cast<std::size_t>(block_tokens)) {
    throw std::logic_error{"prefix cache: not a whole block"};
  }
  prefix_cache::block_key key;
  std::copy(tokens.begin(), tokens.end(), key.begin());
  return key;
}

}  // namespace

prefix_cache::prefix_cache(block_pool& pool, hash_function hash)
    : pool_{&pool},
      hash_{hash ? std::move(hash) : chain_hash},
      age_ticks_{
          static_cast<std::uint64_t>(std::max(1, pool.size() / ages_in_pool))} {
}

prefix_cache::turn prefix_cache::turn_of(std::int32_t index) const {
  const node& n = nodes_[at(index)];
  return {n.used / age_ticks_, -n.depth, n.used, index};
}

std::int32_t prefix_cache::lookup(std::int32_t parent,
                                  std::span<const token_id> tokens) const {
  const block_key key = key_of(tokens);
  const auto h = hash_(parent < 0 ? root_hash : nodes_[at(parent)].hash, key);
  const auto [begin, end] = by_hash_.equal_range(h);
  for (auto it = begin; it != end; ++it) {
    const node& candidate = nodes_[at(it->second)];
    // Equal parents stand for equal prefixes, so this compares every token.
    if (candidate.parent == parent && candidate.tokens == key) {
      return it->second;
    }
  }
  return -1;
}

std::vector<block_id> prefix_cache::find(
    std::span<const token_id> tokens) const {
  constexpr auto step = static_cast<std::size_t>(block_tokens);
  std::vector<block_id> blocks;
  std::int32_t parent = -1;
  for (std::size_t i = 0; i + step <= tokens.size(); i += step) {
    const auto next = lookup(parent, tokens.subspan(i, step));
    if (next < 0) break;
    blocks.push_back(nodes_[at(next)].block);
    parent = next;
  }
  return blocks;
}

void prefix_cache::touch(std::span<const token_id> tokens) {
  constexpr auto step = static_cast<std::size_t>(block_tokens);
  ++clock_;
  std::int32_t parent = -1;
  for (std::size_t i = 0; i + step <= tokens.size(); i += step) {
    const auto next = lookup(parent, tokens.subspan(i, step));
    if (next < 0) break;
    node& n = nodes_[at(next)];
    const bool leaf = n.children == 0;
    if (leaf) leaves_.erase(turn_of(next));
    n.used = clock_;
    if (leaf) leaves_.insert(turn_of(next));
    parent = next;
  }
}

prefix_cache::handle prefix_cache::child(
    handle parent, std::span<const token_id> tokens) const {
  const auto found = lookup(parent.index, tokens);
  if (found < 0) return {};
  return {found, nodes_[at(found)].serial};
}

prefix_cache::handle prefix_cache::insert(handle parent,
                                          std::span<const token_id> tokens,
                                          block_id block) {
  if (parent.index >= 0 && !valid(parent)) {
    throw std::logic_error{"prefix cache: the parent is gone"};
  }
  std::int32_t index = 0;
  if (free_.empty()) {
    index = static_cast<std::int32_t>(nodes_.size());
    nodes_.emplace_back();
  } else {
    index = free_.back();
    free_.pop_back();
  }
  node& n = nodes_[at(index)];
  n.parent = parent.index;
  n.children = 0;
  n.depth = 0;
  n.block = block;
  n.tokens = key_of(tokens);
  n.hash =
      hash_(n.parent < 0 ? root_hash : nodes_[at(n.parent)].hash, n.tokens);
  n.serial = ++serial_;
  n.used = ++clock_;
  if (n.parent >= 0) {
    node& above = nodes_[at(n.parent)];
    if (above.children++ == 0) leaves_.erase(turn_of(n.parent));
    n.depth = above.depth + 1;
  }
  leaves_.insert(turn_of(index));
  by_hash_.emplace(n.hash, index);
  pool_->add_reference(block);
  pool_->set_cached(block, true);
  return {index, n.serial};
}

bool prefix_cache::valid(handle node) const {
  return node.index >= 0 && at(node.index) < nodes_.size() &&
         nodes_[at(node.index)].serial == node.serial;
}

block_id prefix_cache::block(handle node) const {
  return nodes_.at(at(node.index)).block;
}

void prefix_cache::remove(std::int32_t index) {
  node& n = nodes_[at(index)];
  leaves_.erase(turn_of(index));
  const auto [begin, end] = by_hash_.equal_range(n.hash);
  for (auto it = begin; it != end; ++it) {
    if (it->second == index) {
      by_hash_.erase(it);
      break;
    }
  }
  if (n.parent >= 0) {
    node& above = nodes_[at(n.parent)];
    if (--above.children == 0) leaves_.insert(turn_of(n.parent));
  }
  pool_->set_cached(n.block, false);
  pool_->drop_reference(n.block);
  n = node{};
  free_.push_back(index);
}

bool prefix_cache::evict_one() {
  for (const auto& place : leaves_) {
    const auto index = std::get<3>(place);
    if (pool_->references(nodes_[at(index)].block) == 1) {
      remove(index);
      return true;
    }
  }
  return false;
}

void prefix_cache::clear() {
  while (!leaves_.empty()) remove(std::get<3>(*leaves_.begin()));
}

std::vector<block_id> prefix_cache::blocks() const {
  std::vector<block_id> blocks;
  for (const node& n : nodes_) {
    if (n.serial != 0) blocks.push_back(n.block);
  }
  return blocks;
}

std::string prefix_cache::check() const {
  std::vector<std::int32_t> children(nodes_.size());
  std::set<block_id> seen;
  for (std::size_t i = 0; i < nodes_.size(); ++i) {
    const node& n = nodes_[i];
    if (n.serial == 0) continue;
    if (!seen.insert(n.block).second) return "a block is cached twice";
    if (n.parent >= 0) {
      if (nodes_[at(n.parent)].serial == 0) return "a cached parent is gone";
      ++children[at(n.parent)];
      // Otherwise blocks would look free that cannot be evicted.
      if (pool_->references(n.block) > 1 &&
          pool_->references(nodes_[at(n.parent)].block) == 1) {
        return "a cached block is held, but not the one before it";
      }
    }
    if (lookup(n.parent, n.tokens) != static_cast<std::int32_t>(i)) {
      return "a cached block cannot be found, or stands twice";
    }
  }
  std::size_t leaves = 0;
  for (std::size_t i = 0; i < nodes_.size(); ++i) {
    const node& n = nodes_[i];
    if (n.serial == 0) continue;
    if (n.children != children[i]) return "a cached block's children are off";
    if (n.children > 0) continue;
    ++leaves;
    if (leaves_.count(turn_of(static_cast<std::int32_t>(i))) == 0) {
      return "a cached leaf is not in the eviction order";
    }
  }
  if (leaves != leaves_.size()) return "the eviction order holds strangers";
  if (size() != by_hash_.size()) return "the hash table has another size";
  return {};
}

}  // namespace vouch::engine
