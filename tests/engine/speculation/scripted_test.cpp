#include <array>
#include <stdexcept>
#include <vector>

#include <gtest/gtest.h>

#include "engine/speculation/scripted_drafter.hpp"
#include "tests/engine/speculation/play.hpp"

namespace vouch::engine {
namespace {

using testing::classic_loop;
using testing::fake_request;
using testing::fake_target;
using testing::play;
using testing::played_run;
using tokens = std::vector<token_id>;

constexpr fake_target target{.seed = 5, .vocabulary = 50, .order = 16};

fake_request request_of(std::int64_t budget) {
  fake_request request;
  request.prompt = {1, 2, 3};
  request.budget = budget;
  request.context = 100'000;
  return request;
}

std::shared_ptr<const drafter> scripted(script mode, std::vector<double> p = {},
                                        std::uint64_t seed = 1) {
  scripted_options options;
  options.mode = mode;
  options.probabilities = std::move(p);
  options.seed = seed;
  options.vocabulary = target.vocabulary;
  options.oracle = [](std::span<const token_id> history) {
    return target.pick(history);
  };
  return scripted_drafter::make(std::move(options)).loaded;
}

played_run run_of(script mode, std::vector<double> p = {}, int width = 5,
                  std::int64_t budget = 400) {
  return play(target, request_of(budget), *scripted(mode, std::move(p)),
              width_set::up_to(width), width);
}

TEST(ScriptedDrafter, ChangesNoTokenWhateverTheScript) {
  const auto classic = classic_loop(target, request_of(400));
  for (const auto mode : {script::right, script::wrong, script::alternating,
                          script::random, script::probable, script::empty}) {
    const auto run = run_of(mode, {0.7, 0.3});
    EXPECT_EQ(run.emitted, classic.emitted);
    EXPECT_EQ(run.cached, classic.cache.back());
  }
}

TEST(ScriptedDrafter, IsAsGoodAsItsScript) {
  // 400 tokens in rounds of 5.
  EXPECT_EQ(run_of(script::right).rounds.size(), 80U);
  EXPECT_EQ(run_of(script::wrong).rounds.size(), 400U);
  EXPECT_EQ(run_of(script::wrong).accepted(), 0);
  EXPECT_EQ(run_of(script::empty).rounds.size(), 400U);
  for (const auto& round : run_of(script::empty).rounds) {
    EXPECT_EQ(round.input.size(), 1U);
  }
  // 5, 1, 5, 1, ...: 6 tokens in two rounds.
  const auto alternating = run_of(script::alternating, {}, 5, 60);
  ASSERT_EQ(alternating.rounds.size(), 20U);
  for (std::size_t i = 0; i < 20; ++i) {
    EXPECT_EQ(alternating.rounds[i].outcome.accepted, i % 2 == 0 ? 4 : 0);
  }
  const auto random = run_of(script::random, {}, 5, 5000);
  // Each draft right once in 50.
  EXPECT_NEAR(random.accepted(), 100, 40);
}

TEST(ScriptedDrafter, IsRightWithTheGivenProbabilities) {
  const std::vector<double> p{0.9, 0.5, 0.2};
  const auto run = run_of(script::probable, p, 5, 20'000);
  std::array<int, 5> reached{};
  std::array<int, 5> right{};
  for (const auto& round : run.rounds) {
    if (round.input.size() < 5) continue;
    for (int i = 0; i < 4; ++i) {
      if (round.outcome.accepted < i) continue;
      ++reached[static_cast<std::size_t>(i)];
      right[static_cast<std::size_t>(i)] += round.outcome.accepted > i ? 1 : 0;
    }
  }
  for (std::size_t i = 0; i < 4; ++i) {
    ASSERT_GT(reached[i], 200);
    const double share = static_cast<double>(right[i]) / reached[i];
    EXPECT_NEAR(share, p[std::min<std::size_t>(i, 2)], 0.06) << i;
  }
}

TEST(ScriptedDrafter, DependsOnSeedAndPositionAlone) {
  const auto a = scripted(script::probable, {0.5}, 3);
  const auto b = scripted(script::probable, {0.5}, 4);
  const tokens history(30, 7);
  const auto first = a->open()->propose(history, 40).tokens;
  EXPECT_EQ(a->open()->propose(history, 40).tokens, first);
  EXPECT_NE(b->open()->propose(history, 40).tokens, first);
  // Narrower blocks are the wider one's beginning.
  EXPECT_EQ(a->open()->propose(history, 9).tokens,
            tokens(first.begin(), first.begin() + 8));
}

TEST(ScriptedDrafter, KnowsTextsAndEndsWithThem) {
  const auto oracle = oracle_of_texts({{1, 2, 3, 4}, {1, 5, 6}});
  EXPECT_EQ(oracle(tokens{1, 2}), 3);
  EXPECT_EQ(oracle(tokens{1, 5}), 6);
  EXPECT_EQ(oracle(tokens{1, 5, 6}), -1);
  EXPECT_EQ(oracle(tokens{2}), -1);
  scripted_options options;
  options.vocabulary = 10;
  options.oracle = oracle;
  const auto load = scripted_drafter::make(options);
  EXPECT_EQ(load.loaded->open()->propose(tokens{1, 2}, 8).tokens,
            (tokens{3, 4}));
}

TEST(ScriptedDrafter, GoesOnBehindAWrongDraft) {
  scripted_options options;
  options.mode = script::probable;
  options.probabilities = {0.5};
  options.vocabulary = 10;
  tokens text(40);
  for (std::size_t i = 0; i < text.size(); ++i) {
    text[i] = static_cast<token_id>(i * i % 10);
  }
  options.oracle = oracle_of_texts({text});
  const auto load = scripted_drafter::make(options);
  int wrong = 0;
  for (std::ptrdiff_t from = 1; from < 33; ++from) {
    const tokens history(text.begin(), text.begin() + from);
    const auto drafts = load.loaded->open()->propose(history, 8).tokens;
    EXPECT_EQ(drafts.size(), 7U);
    wrong +=
        std::equal(drafts.begin(), drafts.end(), text.begin() + from) ? 0 : 1;
  }
  EXPECT_GT(wrong, 20);
}

TEST(ScriptedDrafter, ProposesForManyAtOnce) {
  const auto drafts = scripted(script::right);
  const auto a = drafts->open();
  const auto b = drafts->open();
  const tokens one{1, 2};
  const tokens two{3};
  std::array<draft_job, 2> jobs{draft_job{a.get(), one, 4, {}},
                                draft_job{b.get(), two, 2, {}}};
  drafts->propose(jobs);
  EXPECT_EQ(jobs[0].result.tokens, drafts->open()->propose(one, 4).tokens);
  EXPECT_EQ(jobs[1].result.tokens, drafts->open()->propose(two, 2).tokens);
}

TEST(ScriptedDrafter, RefusesWhatIsNoScript) {
  scripted_options options;
  options.vocabulary = 10;
  EXPECT_THROW(scripted_drafter::make(options), std::invalid_argument);
  options.oracle = oracle_of_texts({});
  options.mode = script::probable;
  EXPECT_THROW(scripted_drafter::make(options), std::invalid_argument);
  options.probabilities = {1.5};
  EXPECT_THROW(scripted_drafter::make(options), std::invalid_argument);
  options.probabilities = {0.5};
  options.max_width = 1;
  EXPECT_THROW(scripted_drafter::make(options), std::invalid_argument);
  options.max_width = 8;
  options.vocabulary = 1;
  const auto load = scripted_drafter::make(options);
  EXPECT_FALSE(load.loaded);
  EXPECT_EQ(load.declined.value().reason, decline_reason::drafter_mismatch);
}

}  // namespace
}  // namespace vouch::engine
