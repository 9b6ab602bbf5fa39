#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <set>
#include <span>
#include <string>
#include <tuple>
#include <unordered_map>
#include <vector>

#include "engine/cache/block_pool.hpp"
#include "engine/types.hpp"

namespace vouch::engine {

/// KV blocks by the tokens they were computed from, for prompts that begin
/// alike. A node is one full block; its parent is the block before it, so a
/// node stands for a whole prefix. Nodes are found by a hash chained along the
/// prefix, and a hit compares parent and token ids: two prefixes that collide
/// in their hashes never share a block.
///
/// The cache holds one reference on each of its blocks. Blocks that nobody
/// else holds are evicted on demand, leaves before their parents: those of the
/// oldest age first, and among these the deepest. An age is the time in which a
/// part of the pool is filled anew. So a load that goes round more prompts than
/// fit keeps their heads, where strict order of use would keep nothing, and
/// what goes was never used lately.
class prefix_cache {
 public:
  using block_key = std::array<token_id, block_tokens>;
  using hash_function =
      std::function<std::uint64_t(std::uint64_t parent, const block_key&)>;

  /// A node; stale once it was evicted, which `valid` tells.
  struct handle {
    std::int32_t index = -1;
    std::uint64_t serial = 0;
  };

  /// `hash` is replaced by tests that want collisions.
  explicit prefix_cache(block_pool& pool, hash_function hash = {});

  /// Blocks of the longest cached prefix of `tokens`, whole blocks only. Takes
  /// no reference and counts as no use; `touch` does.
  std::vector<block_id> find(std::span<const token_id> tokens) const;

  /// The node after `parent` (a default handle: the root) with these tokens,
  /// or a handle that is not valid.
  handle child(handle parent, std::span<const token_id> tokens) const;
  /// Adds a node that `child` does not find; takes a reference on `block`.
  /// `parent` must be valid or the root.
  handle insert(handle parent, std::span<const token_id> tokens,
                block_id block);
  bool valid(handle node) const;
  block_id block(handle node) const;

  /// Marks the cached prefix of `tokens` as used now.
  void touch(std::span<const token_id> tokens);

  /// Frees the first leaf in that order that only the cache holds. False when
  /// there is none.
  bool evict_one();
  /// Forgets everything; blocks that others hold stay theirs.
  void clear();

  std::size_t size() const { return nodes_.size() - free_.size(); }
  /// Blocks of all nodes, for the scheduler's own checks.
  std::vector<block_id> blocks() const;
  /// The first internal invariant that does not hold, or empty.
  std::string check() const;

 private:
  struct node {
    std::int32_t parent = -1;
    std::int32_t children = 0;
    /// Blocks before it.
    std::int32_t depth = 0;
    block_id block = -1;
    std::uint64_t hash = 0;
    /// 0: the node is not in use.
    std::uint64_t serial = 0;
    std::uint64_t used = 0;
    block_key tokens{};
  };

  std::int32_t lookup(std::int32_t parent,
                      std::span<const token_id> tokens) const;
  void remove(std::int32_t index);
  /// (age, -depth, used, index): the smallest goes first.
  using turn =
      std::tuple<std::uint64_t, std::int32_t, std::uint64_t, std::int32_t>;
  turn turn_of(std::int32_t index) const;
  static std::size_t at(std::int32_t index) {
    return static_cast<std::size_t>(index);
  }

  block_pool* pool_;
  hash_function hash_;
  std::vector<node> nodes_;
  std::vector<std::int32_t> free_;
  /// Looked up only, never iterated: its order decides nothing.
  std::unordered_multimap<std::uint64_t, std::int32_t> by_hash_;
  /// Nodes without children, the next to go first.
  std::set<turn> leaves_;
  /// Ticks of the clock, about as many as blocks are added.
  std::uint64_t age_ticks_ = 1;
  std::uint64_t clock_ = 0;
  std::uint64_t serial_ = 0;
};

}  // namespace vouch::engine
