#include "engine/cache/prefix_cache.hpp"

#include <numeric>
#include <random>
#include <stdexcept>

#include <gtest/gtest.h>

namespace vouch::engine {
namespace {

std::vector<token_id> tokens(int count, token_id first) {
  std::vector<token_id> t(static_cast<std::size_t>(count));
  std::iota(t.begin(), t.end(), first);
  return t;
}

/// Caches `text`'s whole blocks as a sequence would that then goes away.
std::vector<block_id> add(block_pool& pool, prefix_cache& cache,
                          std::span<const token_id> text) {
  prefix_cache::handle at;
  std::vector<block_id> blocks;
  for (std::size_t i = 0; i + 16 <= text.size(); i += 16) {
    auto next = cache.child(at, text.subspan(i, 16));
    if (cache.valid(next)) {
      pool.add_reference(cache.block(next));
    } else {
      if (pool.free() == 0) cache.evict_one();
      next = cache.insert(at, text.subspan(i, 16), pool.take());
    }
    blocks.push_back(cache.block(next));
    at = next;
  }
  for (const auto block : blocks) pool.drop_reference(block);
  EXPECT_EQ(cache.check(), "");
  return blocks;
}

TEST(BlockPool, CountsReferences) {
  block_pool pool{2};
  EXPECT_EQ(pool.free(), 2);
  const auto a = pool.take();
  pool.add_reference(a);
  pool.drop_reference(a);
  EXPECT_EQ(pool.free(), 1);
  pool.set_cached(a, true);
  EXPECT_EQ(pool.only_cached(), 1);
  pool.add_reference(a);
  EXPECT_EQ(pool.only_cached(), 0);
  pool.drop_reference(a);
  EXPECT_THROW(pool.drop_reference(a), std::logic_error);
  pool.set_cached(a, false);
  pool.drop_reference(a);
  EXPECT_EQ(pool.free(), 2);
  EXPECT_THROW(pool.drop_reference(a), std::logic_error);
  EXPECT_THROW(pool.add_reference(a), std::logic_error);
  pool.take();
  pool.take();
  EXPECT_THROW(pool.take(), std::logic_error);
}

TEST(PrefixCache, FindsTheLongestPrefixOfWholeBlocks) {
  block_pool pool{8};
  prefix_cache cache{pool};
  const auto text = tokens(50, 0);
  const auto blocks = add(pool, cache, text);
  ASSERT_EQ(blocks.size(), 3U);
  EXPECT_EQ(cache.find(text), blocks);
  auto other = text;
  other[20] = 999;
  EXPECT_EQ(cache.find(other), std::vector<block_id>{blocks[0]});
  other[0] = 999;
  EXPECT_TRUE(cache.find(other).empty());
  EXPECT_TRUE(cache.find(std::span{text}.first(15)).empty());
  // The second block's tokens alone are another prefix.
  EXPECT_TRUE(cache.find(std::span{text}.subspan(16)).empty());
}

TEST(PrefixCache, ComparesTokensAndParentsWhereHashesCollide) {
  block_pool pool{64};
  prefix_cache cache{pool, [](std::uint64_t, const prefix_cache::block_key&) {
                       return std::uint64_t{7};
                     }};
  const auto a = tokens(32, 0);
  const auto b = tokens(32, 1000);
  // The same second block behind another first one.
  auto c = b;
  std::copy(a.begin() + 16, a.end(), c.begin() + 16);
  const auto blocks_a = add(pool, cache, a);
  const auto blocks_b = add(pool, cache, b);
  EXPECT_EQ(cache.find(a), blocks_a);
  EXPECT_EQ(cache.find(b), blocks_b);
  EXPECT_EQ(cache.find(c), std::vector<block_id>{blocks_b[0]});
  const auto blocks_c = add(pool, cache, c);
  EXPECT_NE(blocks_c[1], blocks_a[1]);
  EXPECT_EQ(cache.find(c), blocks_c);
}

TEST(PrefixCache, EvictsLeavesFirstAndTheLeastRecentlyUsed) {
  block_pool pool{4};
  prefix_cache cache{pool};
  const auto a = tokens(32, 0);
  const auto b = tokens(32, 1000);
  const auto blocks_a = add(pool, cache, a);
  add(pool, cache, b);
  EXPECT_EQ(pool.only_cached(), 4);
  cache.touch(a);
  EXPECT_TRUE(cache.evict_one());  // b's second
  EXPECT_EQ(cache.find(b).size(), 1U);
  EXPECT_TRUE(cache.evict_one());  // b's first
  EXPECT_TRUE(cache.find(b).empty());
  pool.add_reference(blocks_a[0]);
  pool.add_reference(blocks_a[1]);
  EXPECT_FALSE(cache.evict_one());
  pool.drop_reference(blocks_a[1]);
  EXPECT_TRUE(cache.evict_one());
  EXPECT_FALSE(cache.evict_one());
  EXPECT_EQ(pool.free(), 3);
  EXPECT_EQ(cache.check(), "");
}

TEST(PrefixCache, KnowsStaleHandles) {
  block_pool pool{2};
  prefix_cache cache{pool};
  const auto a = tokens(16, 0);
  add(pool, cache, a);
  const auto old = cache.child({}, a);
  EXPECT_TRUE(cache.valid(old));
  EXPECT_TRUE(cache.evict_one());
  EXPECT_FALSE(cache.valid(old));
  add(pool, cache, tokens(16, 50));
  EXPECT_FALSE(cache.valid(old));
  const auto block = pool.take();
  EXPECT_THROW(cache.insert(old, a, block), std::logic_error);
}

TEST(PrefixCache, RandomUseKeepsItsInvariants) {
  std::mt19937 random{1};
  for (const bool collide : {false, true}) {
    block_pool pool{24};
    prefix_cache cache{
        pool, collide ? prefix_cache::hash_function{[](std::uint64_t p,
                                                       const auto& key) {
          return (p + static_cast<std::uint64_t>(key[0])) % 3;
        }}
                      : prefix_cache::hash_function{}};
    for (int i = 0; i < 2000; ++i) {
      std::vector<token_id> text;
      const auto blocks = 1 + random() % 6;
      for (unsigned b = 0; b < blocks; ++b) {
        const auto t = static_cast<token_id>(random() % 3);
        text.insert(text.end(), 16, t);
      }
      add(pool, cache, text);
      if (random() % 2 == 0) cache.touch(text);
      if (random() % 200 == 0) {
        cache.clear();
        EXPECT_EQ(pool.free(), 24);
      }
      ASSERT_EQ(cache.check(), "");
      ASSERT_EQ(pool.free() + pool.only_cached(), 24);
    }
  }
}

}  // namespace
}  // namespace vouch::engine
