#include "engine/speculation/round.hpp"

#include <algorithm>
#include <array>
#include <limits>
#include <stdexcept>
#include <vector>

#include <gtest/gtest.h>

#include "tests/engine/speculation/fake_target.hpp"

namespace vouch::engine {
namespace {

using testing::classic_loop;
using testing::draws;
using testing::fake_request;
using testing::fake_target;
using tokens = std::vector<token_id>;

TEST(WidthSet, FindsTheLargestBelowAndTheNextAbove) {
  const width_set some{2, 4, 16, 64};
  EXPECT_EQ(some.at_most(0), 1);
  EXPECT_EQ(some.at_most(1), 1);
  EXPECT_EQ(some.at_most(2), 2);
  EXPECT_EQ(some.at_most(3), 2);
  EXPECT_EQ(some.at_most(15), 4);
  EXPECT_EQ(some.at_most(63), 16);
  EXPECT_EQ(some.at_most(64), 64);
  EXPECT_EQ(some.at_most(1'000'000), 64);
  EXPECT_EQ(some.next_above(1), 2);
  EXPECT_EQ(some.next_above(4), 16);
  EXPECT_EQ(some.next_above(63), 64);
  EXPECT_EQ(some.next_above(64), 0);
  EXPECT_EQ(some.widths(), (std::vector<int>{2, 4, 16, 64}));
  EXPECT_EQ(width_set{}.at_most(9), 1);
  EXPECT_TRUE(width_set::up_to(1).empty());
  EXPECT_EQ(width_set::up_to(4), (width_set{2, 3, 4}));
}

TEST(WidthSet, RefusesWhatIsNoBlock) {
  EXPECT_THROW(width_set({1}), std::out_of_range);
  EXPECT_THROW(width_set({65}), std::out_of_range);
  EXPECT_FALSE(width_set::up_to(64).contains(1));
  EXPECT_FALSE(width_set::up_to(64).contains(65));
}

TEST(RoundWidth, IsTheLeastOfItsBoundsThenVouched) {
  const auto all = width_set::up_to(16);
  const std::int64_t ample = 1000;
  EXPECT_EQ(round_width({8, ample, ample}, all), 8);
  EXPECT_EQ(round_width({8, 3, ample}, all), 4);  // r + 1
  EXPECT_EQ(round_width({8, 1, ample}, all), 2);
  EXPECT_EQ(round_width({8, ample, 5}, all), 5);
  EXPECT_EQ(round_width({8, ample, 1}, all), 1);
  EXPECT_EQ(round_width({1, ample, ample}, all), 1);
  EXPECT_EQ(round_width({8, ample, ample}, {2, 6}), 6);
  EXPECT_EQ(round_width({8, 4, ample}, {2, 6}), 2);
  EXPECT_EQ(round_width({8, ample, ample}, {}), 1);
  EXPECT_EQ(round_width({8, 0, ample}, all), 0);
  EXPECT_EQ(round_width({8, ample, 0}, all), 0);
  EXPECT_EQ(
      round_width({8, std::numeric_limits<std::int64_t>::max(), ample}, all),
      8);
}

TEST(VerifyInput, EndsAtADraftThatIsNoToken) {
  const auto all = width_set::up_to(16);
  const draft_limits limits{.vocabulary = 100, .mask = 50};
  const tokens drafts{1, 2, 3, 4};
  EXPECT_EQ(verify_input(9, drafts, 5, limits, all), (tokens{9, 1, 2, 3, 4}));
  EXPECT_EQ(verify_input(9, drafts, 3, limits, all), (tokens{9, 1, 2}));
  EXPECT_EQ(verify_input(9, drafts, 1, limits, all), tokens{9});
  EXPECT_EQ(verify_input(9, {}, 5, limits, all), tokens{9});
  EXPECT_EQ(verify_input(9, tokens{1, 50, 3}, 5, limits, all), (tokens{9, 1}));
  EXPECT_EQ(verify_input(9, tokens{1, 100, 3}, 5, limits, all), (tokens{9, 1}));
  EXPECT_EQ(verify_input(9, tokens{-1, 2}, 5, limits, all), tokens{9});
  EXPECT_EQ(verify_input(9, tokens{50}, 5, {100, {}}, all), (tokens{9, 50}));
  // Shorter than drafted, so another width: it must be vouched for as well.
  EXPECT_EQ(verify_input(9, tokens{1, 2, 3, -1}, 5, limits, {3, 5}),
            (tokens{9, 1, 2}));
  EXPECT_EQ(verify_input(9, tokens{1, -1}, 5, limits, {3, 5}), tokens{9});
}

emission_rules open_ended(std::span<const token_id> stops = {}) {
  return {.stop_tokens = stops,
          .to_emit = 1000,
          .context_left = 1000,
          .completes_stop_string = {}};
}

TEST(SettleRound, AcceptsTheLongestCommonPrefix) {
  const tokens input{9, 1, 2, 3};
  for (int accepted = 0; accepted <= 3; ++accepted) {
    tokens picks{1, 2, 3, 4};
    if (accepted < 3) picks[static_cast<std::size_t>(accepted)] = 77;
    const auto out = settle_round(input, picks, open_ended());
    EXPECT_EQ(out.accepted, accepted);
    EXPECT_EQ(out.accepted_emitted, accepted);
    EXPECT_EQ(out.kept_rows, accepted + 1);
    EXPECT_EQ(out.emitted, tokens(picks.begin(), picks.begin() + accepted + 1));
    EXPECT_EQ(out.next_anchor, picks[static_cast<std::size_t>(accepted)]);
    EXPECT_EQ(out.end, round_end::none);
  }
}

TEST(SettleRound, CutsAtTheFirstStopToken) {
  const tokens stops{2, 4};
  auto out =
      settle_round(tokens{9, 1, 2, 3}, tokens{1, 2, 3, 4}, open_ended(stops));
  EXPECT_EQ(out.emitted, (tokens{1, 2}));
  EXPECT_EQ(out.accepted, 3);
  EXPECT_EQ(out.accepted_emitted, 2);
  EXPECT_EQ(out.kept_rows, 2);
  EXPECT_EQ(out.end, round_end::stop_token);
  // The stop token is the bonus.
  out = settle_round(tokens{9, 1, 3}, tokens{1, 3, 4}, open_ended(stops));
  EXPECT_EQ(out.emitted, (tokens{1, 3, 4}));
  EXPECT_EQ(out.accepted_emitted, 2);
  EXPECT_EQ(out.end, round_end::stop_token);
}

TEST(SettleRound, CutsAtBudgetContextAndStopString) {
  const tokens input{9, 1, 2, 3};
  const tokens picks{1, 2, 3, 4};
  auto rules = open_ended();
  rules.to_emit = 2;
  auto out = settle_round(input, picks, rules);
  EXPECT_EQ(out.emitted, (tokens{1, 2}));
  EXPECT_EQ(out.end, round_end::budget);
  // With r = 3 and width 4 the bonus is surplus.
  rules.to_emit = 3;
  out = settle_round(input, picks, rules);
  EXPECT_EQ(out.emitted, (tokens{1, 2, 3}));
  EXPECT_EQ(out.kept_rows, 3);
  rules = open_ended();
  rules.context_left = 4;
  out = settle_round(input, picks, rules);
  EXPECT_EQ(out.emitted, picks);
  EXPECT_EQ(out.end, round_end::context);
  rules = open_ended();
  tokens told;
  rules.completes_stop_string = [&told](token_id token) {
    told.push_back(token);
    return token == 2;
  };
  out = settle_round(input, picks, rules);
  EXPECT_EQ(out.emitted, (tokens{1, 2}));
  EXPECT_EQ(told, (tokens{1, 2}));
  EXPECT_EQ(out.end, round_end::stop_string);
}

TEST(SettleRound, IgnoresErrorsThatClassicWouldNotHaveMet) {
  // Past `accepted`.
  auto out = settle_round(tokens{9, 1, 2}, tokens{5, -1, -1}, open_ended());
  EXPECT_EQ(out.emitted, tokens{5});
  EXPECT_EQ(out.end, round_end::none);
  EXPECT_EQ(out.failed_row, -1);
  // At `accepted`: what came before it stands.
  out = settle_round(tokens{9, 1, 2}, tokens{1, -1, 3}, open_ended());
  EXPECT_EQ(out.emitted, tokens{1});
  EXPECT_EQ(out.accepted, 1);
  EXPECT_EQ(out.kept_rows, 1);
  EXPECT_EQ(out.end, round_end::failed);
  EXPECT_EQ(out.failed_row, 1);
  out = settle_round(tokens{9, 1}, tokens{-1, 3}, open_ended());
  EXPECT_TRUE(out.emitted.empty());
  EXPECT_EQ(out.next_anchor, 9);
  EXPECT_EQ(out.end, round_end::failed);
  EXPECT_EQ(out.failed_row, 0);
  // At `accepted`, but the sequence had ended before it.
  const tokens stops{1};
  out = settle_round(tokens{9, 1, 2}, tokens{1, -1, 3}, open_ended(stops));
  EXPECT_EQ(out.end, round_end::stop_token);
  EXPECT_EQ(out.failed_row, -1);
  // An error never equals a draft, not even one with the same id.
  out = settle_round(tokens{9, -1}, tokens{-1, 3}, open_ended());
  EXPECT_EQ(out.accepted, 0);
  EXPECT_EQ(out.end, round_end::failed);
}

TEST(SettleRound, RefusesAMisfit) {
  EXPECT_THROW(settle_round({}, {}, open_ended()), std::invalid_argument);
  EXPECT_THROW(settle_round(tokens{1, 2}, tokens{1}, open_ended()),
               std::invalid_argument);
  auto rules = open_ended();
  rules.to_emit = 0;
  EXPECT_THROW(settle_round(tokens{1}, tokens{1}, rules),
               std::invalid_argument);
  rules = open_ended();
  rules.context_left = 0;
  EXPECT_THROW(settle_round(tokens{1}, tokens{1}, rules),
               std::invalid_argument);
}

TEST(RoundEnd, HasNames) {
  for (const auto end :
       {round_end::none, round_end::stop_token, round_end::stop_string,
        round_end::budget, round_end::context, round_end::failed}) {
    EXPECT_EQ(round_end_of(name_of(end)), end);
  }
  EXPECT_FALSE(round_end_of("stop"));
}

/// What the property test has met, so that it cannot pass by meeting nothing.
struct coverage {
  std::array<int, 6> ends{};
  std::array<int, 17> accepted{};
  std::array<int, 17> widths{};
  int cut_inside = 0;
  int ignored_errors = 0;
  int short_blocks = 0;
};

/// One request in rounds: after each, text and cache equal the classic loop's.
void compare(const fake_target& target, const fake_request& request,
             int configured, const width_set& vouched, draws& random,
             coverage& seen) {
  const auto classic = classic_loop(target, request);
  auto history = request.prompt;
  tokens emitted;
  auto cached = static_cast<std::int64_t>(history.size()) - 1;
  auto matcher = request.matcher();
  auto end = round_end::none;
  const draft_limits limits{target.vocabulary, target.vocabulary - 1};
  const double right = random.chance(0.5) ? 0.95 : 0.6;
  while (end == round_end::none) {
    const auto to_emit = request.budget - std::ssize(emitted);
    const auto context_left = request.context - cached;
    const int width = round_width({configured, to_emit, context_left}, vouched);
    ASSERT_GE(width, 1);
    tokens drafts;
    auto ahead = history;
    while (std::ssize(drafts) < width - 1 && !random.chance(0.02)) {
      const token_id truth = target.pick(ahead);
      drafts.push_back(
          random.chance(right) ? truth : random.between(-1, target.vocabulary));
      ahead.push_back(drafts.back());
    }
    const auto input =
        verify_input(history.back(), drafts, width, limits, vouched);
    ASSERT_TRUE(input.size() == 1 ||
                vouched.contains(static_cast<int>(input.size())));
    ASSERT_LE(cached + std::ssize(input), request.context);
    if (std::ssize(input) < width) ++seen.short_blocks;
    const auto picks = target.verify(history, input);
    const auto out = settle_round(
        input, picks, {request.stop_tokens, to_emit, context_left, matcher});
    // The matcher is a value: settle_round had a copy, so it is replayed.
    if (matcher) {
      for (const token_id token : out.emitted) (void)matcher(token);
    }
    emitted.insert(emitted.end(), out.emitted.begin(), out.emitted.end());
    history.insert(history.end(), out.emitted.begin(), out.emitted.end());
    cached += out.kept_rows;
    end = out.end;
    ASSERT_LE(emitted.size(), classic.emitted.size());
    ASSERT_TRUE(
        std::equal(emitted.begin(), emitted.end(), classic.emitted.begin()));
    ASSERT_EQ(cached, classic.cache[emitted.size()]);
    ASSERT_EQ(cached, std::ssize(history) - 1);
    ASSERT_EQ(out.next_anchor, history.back());
    ++seen.accepted[static_cast<std::size_t>(out.accepted)];
    ++seen.widths[input.size()];
    if (out.kept_rows <= out.accepted) ++seen.cut_inside;
    if (end != round_end::failed &&
        std::find(picks.begin(), picks.end(), -1) != picks.end()) {
      ++seen.ignored_errors;
    }
  }
  EXPECT_EQ(emitted, classic.emitted);
  EXPECT_EQ(end, classic.end);
  ++seen.ends[static_cast<std::size_t>(end)];
}

TEST(RoundProperty, EqualsTheClassicLoopAfterEveryRound) {
  coverage seen;
  for (std::uint64_t run = 0; run < 6000; ++run) {
    draws random{run};
    fake_target target{.seed = run,
                       .vocabulary = random.between(3, 40),
                       .one_error_in = random.chance(0.3) ? 40U : 0U};
    fake_request request;
    for (int i = random.between(1, 6); i > 0; --i) {
      request.prompt.push_back(random.below(target.vocabulary));
    }
    request.budget = random.chance(0.1) ? 1 : random.between(1, 90);
    request.context = random.chance(0.2)
                          ? std::ssize(request.prompt) + random.between(0, 50)
                          : 1000;
    if (random.chance(0.4)) {
      request.stop_tokens.push_back(random.below(target.vocabulary));
    }
    if (random.chance(0.3)) {
      request.stop_pair = {random.below(target.vocabulary),
                           random.below(target.vocabulary)};
    }
    const int configured = random.between(1, 16);
    width_set vouched;
    for (int width = 2; width <= configured; ++width) {
      if (random.chance(0.7)) vouched.insert(width);
    }
    compare(target, request, configured, vouched, random, seen);
    if (HasFatalFailure()) FAIL() << "run " << run;
  }
  for (std::size_t i = 1; i < 6; ++i) EXPECT_GT(seen.ends[i], 0) << i;
  for (std::size_t i = 0; i < 16; ++i) EXPECT_GT(seen.accepted[i], 0) << i;
  for (std::size_t i = 1; i < 17; ++i) EXPECT_GT(seen.widths[i], 0) << i;
  EXPECT_GT(seen.cut_inside, 100);
  EXPECT_GT(seen.ignored_errors, 100);
  EXPECT_GT(seen.short_blocks, 100);
}

}  // namespace
}  // namespace vouch::engine
