// From the rows of logits to drafts.

#include "engine/models/dflash_select.hpp"

#include <cmath>
#include <vector>

#include <gtest/gtest.h>

#include "tests/engine/models/dflash_fixture.hpp"

namespace vouch {
namespace {

using engine::token_id;

std::vector<token_id> select(const engine::dflash_files& files,
                             kernels::thread_pool& pool, token_id anchor,
                             std::vector<float> logits, std::int64_t count) {
  const auto weights = engine::load_dflash_weights(files, 2, pool);
  const std::vector<float> hidden(
      static_cast<std::size_t>(count * files.drafter().shape.hidden_size),
      0.0F);
  const auto vocabulary = static_cast<std::int64_t>(logits.size()) / count;
  return engine::select_drafts(
      files.drafter(), weights, anchor,
      {hidden.data(), logits.data(), count, vocabulary}, pool);
}

TEST(DflashSelect, TiesGoToTheLowestIdAndNanEndsTheBlock) {
  kernels::thread_pool pool{1};
  const auto files = engine::open_dflash(test::dflash_fixture("full"));
  EXPECT_EQ(select(*files, pool, 1, {0, 3, 3, 1, /**/ -9, -9, -9, -10}, 2),
            (std::vector<token_id>{1, 0}));
  // A NaN is not the largest; a row of nothing else ends the block.
  EXPECT_EQ(select(*files, pool, 1,
                   {NAN, 1, 2, 0, /**/ NAN, NAN, NAN, NAN, /**/ 5, 1, 1, 1}, 3),
            (std::vector<token_id>{2}));
}

/// With nothing hidden the selector adds nothing: the largest logit again, as
/// long as it is a candidate.
TEST(DflashSelect, SelectorKeepsToTheCandidates) {
  kernels::thread_pool pool{1};
  const auto files = engine::open_dflash(test::dflash_fixture("second"));
  ASSERT_EQ(files->drafter().selector->top_k, 6);
  std::vector<float> logits(128, NAN);
  logits[20] = 1;
  logits[21] = 1;
  EXPECT_EQ(select(*files, pool, 3, logits, 2), (std::vector<token_id>{20}));
  logits[64 + 63] = -4;
  EXPECT_EQ(select(*files, pool, 3, logits, 2),
            (std::vector<token_id>{20, 63}));
}

/// The choice before decides the bias of the row after it.
TEST(DflashSelect, MarkovHeadFollowsTheChoiceBefore) {
  kernels::thread_pool pool{1};
  const auto files = engine::open_dflash(test::dflash_fixture("markov"));
  const std::vector<float> none(64 * 3, 0.0F);
  const auto first = select(*files, pool, 3, none, 3);
  ASSERT_EQ(first.size(), 3U);
  EXPECT_EQ(select(*files, pool, first[0], none, 2),
            (std::vector<token_id>{first[1], first[2]}));
  std::vector<float> pushed = none;
  pushed[static_cast<std::size_t>((first[0] + 1) % 64)] = 1000;
  EXPECT_NE(select(*files, pool, 3, pushed, 3)[1], first[1]);
}

}  // namespace
}  // namespace vouch
