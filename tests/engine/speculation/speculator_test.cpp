#include "engine/speculation/speculator.hpp"

#include <stdexcept>
#include <vector>

#include <gtest/gtest.h>

namespace vouch::engine {
namespace {

/// A row costs a tenth of a step more.
double cheap(std::int64_t rows, std::int64_t) {
  return 1e-3 * (1.0 + 0.1 * static_cast<double>(rows - 1));
}
/// A step costs as much as its rows.
double dear(std::int64_t rows, std::int64_t) {
  return 1e-3 * static_cast<double>(rows);
}

speculator_options options_of(double (*cost)(std::int64_t, std::int64_t)) {
  speculator_options o;
  o.controller.step_seconds = cost;
  o.controller.prior.by_evidence.fill({0.7, 0.8});
  return o;
}

round_report round_of(std::vector<token_id> emitted) {
  round_report r;
  r.outcome.emitted = std::move(emitted);
  return r;
}

const std::vector<draft_wish> two{{1, 0, 64}, {2, 1, 3}};
const auto all = width_set::up_to(16);

TEST(Speculator, AsksUpToItsWidthAndTheWish) {
  speculator s{options_of(cheap)};
  const auto asks = s.ask(two, all, {});
  ASSERT_EQ(asks.size(), 2U);
  EXPECT_EQ(asks[0].width, 8);
  EXPECT_EQ(asks[1].width, 3);
  EXPECT_EQ(asks[1].slot, 1);
}

TEST(Speculator, OffersWhatPaysAndNoMore) {
  speculator s{options_of(cheap)};
  s.ask(two, all, {});
  const auto offers = s.decide({{2, {{7, 8, 9}, 0}}, {1, {{4, 5}, 0}}});
  ASSERT_EQ(offers.size(), 2U);
  EXPECT_EQ(offers[0].id, 1U);
  EXPECT_EQ(offers[0].proposal.tokens, (std::vector<token_id>{4, 5}));
  // Three rows at most.
  EXPECT_EQ(offers[1].proposal.tokens, (std::vector<token_id>{7, 8}));
  EXPECT_TRUE(s.unprofitable().empty());
}

TEST(Speculator, NamesThoseThatDoNotPay) {
  speculator s{options_of(dear)};
  s.ask(two, all, {});
  EXPECT_TRUE(s.decide({{1, {{4, 5}, 0}}, {2, {}}}).empty());
  EXPECT_EQ(s.unprofitable(), std::vector<sequence_id>{1});
}

TEST(Speculator, LearnsFromDraftsThatNobodyVerified) {
  speculator s{options_of(dear)};
  const double before = s.controller().acceptance(1, 0, 0);
  for (int i = 0; i < 20; ++i) {
    s.ask(two, all, {});
    s.decide({{1, {{4}, 0}}});
    s.observe(1, round_of({4}));
  }
  EXPECT_GT(s.controller().acceptance(1, 0, 0), before);
  s.forget(1);
  EXPECT_LT(s.controller().acceptance(1, 0, 0), 1.0);
}

TEST(Speculator, KnowsForWhomWaitingIsWorthwhile) {
  speculator s{options_of(cheap)};
  // Nothing is known of a new one.
  EXPECT_TRUE(s.is_promising(1));
  s.note({{1, {{4, 5}, 0}}});
  s.observe(1, round_of({9}));
  EXPECT_FALSE(s.is_promising(1));
  // Beside the step a draft was made that would have been right.
  s.note({{1, {{4, 5}, 0}}});
  s.observe(1, round_of({4}));
  EXPECT_TRUE(s.is_promising(1));
  s.observe(1, round_of({5}));
  EXPECT_FALSE(s.is_promising(1));
  // In a burst, whatever came of it.
  auto burst = round_of({5});
  burst.drafts = {7};
  s.observe(1, burst);
  EXPECT_TRUE(s.is_promising(1));
  s.observe(1, round_of({5}));
  s.forget(1);
  EXPECT_TRUE(s.is_promising(1));
}

TEST(Speculator, FixedTakesTheWidestWhateverItCosts) {
  auto o = options_of(dear);
  o.fixed = true;
  speculator s{o};
  s.ask(two, all, {});
  const auto offers = s.decide({{1, {{1, 2, 3, 4, 5, 6, 7, 8, 9}, 0}}});
  ASSERT_EQ(offers.size(), 1U);
  EXPECT_EQ(offers[0].proposal.tokens.size(), 7U);
}

TEST(Speculator, ADearDrafterIsAskedOnlyWhereItPays) {
  auto o = options_of(dear);
  o.is_free = false;
  o.controller.draft_seconds = [](auto, auto rows) {
    return 1e-3 * static_cast<double>(rows);
  };
  speculator s{o};
  EXPECT_TRUE(s.ask(two, all, {}).empty());

  o.controller.step_seconds = cheap;
  o.controller.draft_seconds = [](auto, auto) { return 1e-5; };
  speculator worth{o};
  const auto asks = worth.ask(two, all, {});
  ASSERT_EQ(asks.size(), 2U);
  EXPECT_GE(asks[0].width, 2);
  // What came is verified, also where it is less than was asked for.
  const auto offers = worth.decide({{1, {{3}, 0}}});
  ASSERT_EQ(offers.size(), 1U);
  EXPECT_EQ(offers[0].proposal.tokens, std::vector<token_id>{3});
}

TEST(Speculator, WithoutStepCostsNobodyIsDraftedFor) {
  EXPECT_THROW(speculator{speculator_options{}}, std::invalid_argument);
}

}  // namespace
}  // namespace vouch::engine
