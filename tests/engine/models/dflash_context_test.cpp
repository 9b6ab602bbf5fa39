// What a drafter remembers of a sequence: the cut of what was appended, what a
// rollback took away, where the sequence begins, and how many threads compute
// must not change a byte of it, nor of the drafts made from it.

#include <algorithm>
#include <numeric>
#include <random>
#include <stdexcept>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "kernels/kv_layout.hpp"
#include "tests/engine/models/dflash_fixture.hpp"

namespace vouch {
namespace {

using engine::dflash_context;
using engine::token_id;
using test::dflash_world;

constexpr std::int64_t length = 100;
constexpr token_id anchor = 17;

std::vector<token_id> some_tokens(std::int64_t count) {
  std::vector<token_id> tokens(static_cast<std::size_t>(count));
  for (std::size_t i = 0; i < tokens.size(); ++i) {
    tokens[i] = static_cast<token_id>((i * i + 7 * i + 3) % 60);
  }
  return tokens;
}

/// K and V of every row, layer after layer.
std::vector<std::byte> stored(const dflash_context& context,
                              std::int32_t layers) {
  const auto& layout = context.layout();
  const auto size = kernels::row_bytes(
      layout.type, std::int64_t{layout.kv_heads} * layout.head_dim);
  std::vector<std::byte> result;
  std::vector<std::byte> k(size);
  std::vector<std::byte> v(size);
  for (std::int32_t layer = 0; layer < layers; ++layer) {
    for (std::int64_t row = 0; row < context.rows(); ++row) {
      kernels::kv_read(layout, context.layer(layer), context.block_table(), row,
                       k.data(), v.data());
      result.insert(result.end(), k.begin(), k.end());
      result.insert(result.end(), v.begin(), v.end());
    }
  }
  return result;
}

class DflashContext : public ::testing::TestWithParam<const char*> {
 protected:
  const float* row(std::int64_t index) const {
    return taps.data() + index * width;
  }
  void append(dflash_context& context, std::int64_t from, std::int64_t to) {
    drafter->append(context, row(from), to - from, world.pool);
  }
  dflash_context whole(std::int64_t first_position = 0) {
    auto context = drafter->new_context(first_position);
    append(context, 0, length);
    return context;
  }
  std::vector<float> logits(dflash_context& context,
                            std::int32_t drafts = 100) {
    drafter->propose(context, anchor, drafts, world.target.model(), world.pool);
    return {drafter->logits().begin(), drafter->logits().end()};
  }
  std::vector<std::byte> bytes(const dflash_context& context) const {
    return stored(context, drafter->config().shape.layers);
  }
  /// Rows, and the drafts made from them.
  void expect_same(dflash_context& one, dflash_context& other) {
    ASSERT_EQ(one.rows(), other.rows());
    EXPECT_EQ(bytes(one), bytes(other));
    EXPECT_EQ(logits(one), logits(other));
  }

  dflash_world world;
  std::unique_ptr<engine::dflash> drafter = world.form(GetParam());
  std::vector<float> taps = world.taps(*drafter, some_tokens(length));
  std::int64_t width = static_cast<std::int64_t>(taps.size()) / length;
};

TEST_P(DflashContext, PiecesEqualTheWhole) {
  auto expected = whole();
  std::mt19937 random{5};
  for (const int most : {1, 3, 17, 64}) {
    auto context = drafter->new_context();
    for (std::int64_t at = 0; at < length;) {
      const auto rows = std::min<std::int64_t>(
          length - at, 1 + static_cast<std::int64_t>(random() % most));
      append(context, at, at + rows);
      at += rows;
      EXPECT_EQ(context.end(), at);
      // A draft between leaves nothing behind.
      if (at % 3 == 0) logits(context);
    }
    expect_same(context, expected);
  }
}

TEST_P(DflashContext, RollbackLeavesNothing) {
  auto expected = whole();
  auto context = drafter->new_context();
  append(context, 0, 40);
  // Rows of rejected drafts, and then those that were meant.
  std::mt19937 random{6};
  for (std::int64_t at = 40; at < length;) {
    const auto wrong = static_cast<std::int64_t>(random() % 12);
    append(context, 0, wrong);
    logits(context);
    context.truncate(at);
    const auto kept = std::min<std::int64_t>(
        length - at, static_cast<std::int64_t>(random() % 9));
    append(context, at, at + kept);
    at += kept;
  }
  expect_same(context, expected);
  context.truncate(0);
  EXPECT_EQ(context.rows(), 0);
  append(context, 0, length);
  expect_same(context, expected);
}

/// Rows of earlier positions do not change when later ones come.
TEST_P(DflashContext, PrefixIsUntouched) {
  auto context = whole();
  auto shorter = drafter->new_context();
  append(shorter, 0, 55);
  const auto before = bytes(shorter);
  const auto drafted = logits(shorter);
  append(shorter, 55, length);
  expect_same(shorter, context);
  shorter.truncate(55);
  EXPECT_EQ(bytes(shorter), before);
  EXPECT_EQ(logits(shorter), drafted);
}

TEST_P(DflashContext, PositionShiftChangesNothing) {
  auto expected = whole();
  for (const std::int64_t first : {1, 16, 255, 100000}) {
    auto context = whole(first);
    EXPECT_EQ(context.first_position(), first);
    EXPECT_EQ(context.end(), first + length);
    expect_same(context, expected);
    context.truncate(first + 30);
    EXPECT_EQ(context.rows(), 30);
  }
}

/// A beginning that was not seen: what is left drafts as a sequence of its own.
TEST_P(DflashContext, ColdStart) {
  auto cold = drafter->new_context(60);
  append(cold, 60, length);
  auto alone = drafter->new_context();
  append(alone, 60, length);
  expect_same(cold, alone);
  auto warm = whole();
  EXPECT_NE(logits(cold), logits(warm));
  // An empty context drafts too, from the anchor alone.
  auto empty = drafter->new_context(12);
  EXPECT_FALSE(logits(empty).empty());
}

TEST_P(DflashContext, CopiesAreIndependent) {
  auto one = drafter->new_context();
  append(one, 0, 50);
  auto copy = one;
  append(one, 50, length);
  append(copy, 0, 20);
  copy.truncate(50);
  append(copy, 50, length);
  expect_same(one, copy);
}

TEST_P(DflashContext, ThreadsChangeNothing) {
  auto context = whole();
  const auto expected = logits(context);
  const auto rows = bytes(context);
  for (const int threads : {1, 3}) {
    kernels::thread_pool pool{threads};
    auto other = drafter->new_context();
    drafter->append(other, row(0), length, pool);
    EXPECT_EQ(bytes(other), rows);
    drafter->propose(other, anchor, 100, world.target.model(), pool);
    EXPECT_TRUE(std::ranges::equal(drafter->logits(), expected));
  }
}

INSTANTIATE_TEST_SUITE_P(Forms, DflashContext,
                         ::testing::Values("full", "deep", "sliding_mixed",
                                           "sliding_wide", "biased", "second",
                                           "own_ends"),
                         [](const auto& info) {
                           return std::string{info.param};
                         });

TEST(DflashContextBounds, AreChecked) {
  dflash_world world;
  const auto drafter = world.form("full");
  auto context = drafter->new_context(10);
  const auto taps = world.taps(*drafter, some_tokens(5));
  drafter->append(context, taps.data(), 5, world.pool);
  EXPECT_GT(context.bytes(), 0U);
  EXPECT_THROW(context.truncate(9), std::out_of_range);
  EXPECT_THROW(context.truncate(16), std::out_of_range);
  context.truncate(15);
  context.truncate(10);
  auto& target = world.target.model();
  EXPECT_THROW(drafter->propose(context, -1, 3, target, world.pool),
               std::out_of_range);
  EXPECT_THROW(drafter->propose(context, 64, 3, target, world.pool),
               std::out_of_range);
  EXPECT_TRUE(drafter->propose(context, 3, 0, target, world.pool).empty());
  EXPECT_TRUE(drafter->logits().empty());
  EXPECT_EQ(drafter->propose(context, 3, 99, target, world.pool).size(), 7U);
  EXPECT_EQ(drafter->propose(context, 3, 2, target, world.pool).size(), 2U);
}

}  // namespace
}  // namespace vouch
