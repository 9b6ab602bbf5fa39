#include <algorithm>
#include <functional>
#include <stdexcept>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "engine/speculation/lookup_drafter.hpp"
#include "engine/speculation/lookup_index.hpp"
#include "tests/engine/speculation/play.hpp"

namespace vouch::engine {
namespace {

using testing::draws;
using testing::fake_request;
using testing::fake_target;
using testing::play;
using tokens = std::vector<token_id>;

/// The definition, as a search: n_max to n_min, from the most recent on.
std::optional<lookup_index::match> search(std::span<const token_id> history,
                                          const lookup_options& options,
                                          std::int64_t begin) {
  const auto size = std::ssize(history);
  for (std::int64_t n = options.n_max; n >= options.n_min; --n) {
    for (auto next = size - 1; next - n >= begin; --next) {
      if (!std::equal(history.end() - n, history.end(),
                      history.begin() + (next - n))) {
        continue;
      }
      int length = static_cast<int>(n);
      while (length < lookup_index::longest_match && next - length > 0 &&
             history[static_cast<std::size_t>(next - length - 1)] ==
                 history[static_cast<std::size_t>(size - length - 1)]) {
        ++length;
      }
      return lookup_index::match{next, length};
    }
  }
  return {};
}

/// Feeds a history in pieces of up to `piece` tokens and compares after each.
void compare(const tokens& history, const lookup_options& options, int piece,
             std::uint64_t seed, int least_found = 1000) {
  lookup_index index{options};
  draws random{seed};
  std::size_t size = 0;
  int found = 0;
  while (size < history.size()) {
    size = std::min(history.size(),
                    size + static_cast<std::size_t>(random.between(1, piece)));
    const auto now = std::span{history}.first(size);
    index.commit(now);
    const auto got = index.find(now);
    const auto expected = search(now, options, index.begin());
    ASSERT_EQ(got.has_value(), expected.has_value()) << size;
    if (got) {
      ++found;
      ASSERT_EQ(got->next, expected->next) << size;
      ASSERT_EQ(got->length, expected->length) << size;
    }
  }
  EXPECT_LE(index.longest_probe(), 64U);
  // A table is at most half full, and at least a quarter after it has grown.
  const auto lengths =
      static_cast<std::size_t>(options.n_max - options.n_min + 1);
  const auto kept =
      std::min(static_cast<std::size_t>(options.max_positions), history.size());
  EXPECT_LE(index.bytes(), lengths * std::max<std::size_t>(16 * kept, 256));
  EXPECT_GE(found, least_found);
}

tokens drawn(std::uint64_t seed, int size, int vocabulary) {
  draws random{seed};
  tokens out;
  for (int i = 0; i < size; ++i) out.push_back(random.below(vocabulary));
  return out;
}

TEST(LookupIndex, EqualsASearchOnRandomHistories) {
  for (std::uint64_t seed = 0; seed < 120; ++seed) {
    draws random{seed};
    lookup_options options;
    options.n_min = random.between(1, 3);
    options.n_max = random.between(options.n_min, 8);
    options.max_positions = random.chance(0.5) ? 32768 : random.between(32, 90);
    options.key = seed;
    const auto history =
        drawn(seed, random.between(200, 500), random.between(2, 30));
    compare(history, options, random.chance(0.5) ? 1 : 9, seed, 0);
    if (::testing::Test::HasFatalFailure()) FAIL() << "seed " << seed;
  }
}

TEST(LookupIndex, EqualsASearchOnAdversarialHistories) {
  compare(tokens(8192, 7), {}, 9, 1);
  tokens periodic;
  tokens broken;
  for (int i = 0; i < 8192; ++i) {
    periodic.push_back(i % 3);
    broken.push_back(i % 1000 == 999 ? 5 : 4);
  }
  compare(periodic, {}, 9, 2);
  compare(broken, {}, 9, 3);
  compare(drawn(4, 8192, 12), {}, 7, 4);
  // Ids at the type's end, and a small index over a long text.
  tokens extreme = drawn(5, 4096, 3);
  for (auto& token : extreme) token = 2147483645 + token;
  compare(extreme, {2, 4, 1000, 9}, 2, 5);
}

TEST(LookupIndex, NeverLooksFarInUnlikeHistories) {
  // Every n-gram another one: as many entries as there can be.
  tokens history;
  for (int i = 0; i < 8192; ++i) history.push_back(i * 7919 % 50021);
  lookup_index index{{}};
  index.commit(history);
  EXPECT_FALSE(index.find(history));
  EXPECT_LE(index.longest_probe(), 64U);
}

TEST(LookupIndex, RefusesWhatItCannotDo) {
  EXPECT_THROW((lookup_index{{0, 4, 1000, 0}}), std::invalid_argument);
  EXPECT_THROW((lookup_index{{3, 2, 1000, 0}}), std::invalid_argument);
  EXPECT_THROW((lookup_index{{2, 17, 1000, 0}}), std::invalid_argument);
  EXPECT_THROW((lookup_index{{2, 4, 31, 0}}), std::invalid_argument);
  EXPECT_THROW(lookup_drafter({3, 2, 1000, 0}), std::invalid_argument);
  lookup_index index{{}};
  index.commit(tokens{1, 2, 3});
  EXPECT_THROW(index.commit(tokens{1, 2}), std::invalid_argument);
  EXPECT_NO_THROW(index.commit(tokens{1, 2, 3}));
}

tokens propose(const tokens& history, int width,
               const lookup_options& options = {}) {
  return lookup_drafter{options}.open()->propose(history, width).tokens;
}

TEST(LookupDrafter, CopiesTheMostRecentLongestMatch) {
  EXPECT_EQ(propose({1, 2, 3, 9, 1, 2, 4, 8, 1, 2}, 3), (tokens{4, 8}));
  // Longer beats more recent.
  EXPECT_EQ(propose({5, 1, 2, 3, 9, 1, 2, 4, 8, 5, 1, 2}, 2), tokens{3});
  EXPECT_EQ(propose({1, 2, 3, 4}, 8), tokens{});
  EXPECT_EQ(propose({1}, 8), tokens{});
  EXPECT_EQ(propose({1, 2, 1, 2}, 1), tokens{});
  EXPECT_EQ(propose({3, 3}, 4, {.n_min = 1}), (tokens{3, 3, 3}));
}

TEST(LookupDrafter, GoesOnIntoItsOwnCopy) {
  EXPECT_EQ(propose({7, 7, 7}, 6), (tokens{7, 7, 7, 7, 7}));
  EXPECT_EQ(propose({1, 2, 3, 1, 2, 3, 1, 2}, 7), (tokens{3, 1, 2, 3, 1, 2}));
}

TEST(LookupDrafter, TellsHowLongTheMatchIs) {
  const auto evidence = [](const tokens& history) {
    return lookup_drafter{{}}.open()->propose(history, 4).evidence;
  };
  EXPECT_EQ(evidence({1, 2, 3, 1, 2}), 0);
  EXPECT_EQ(evidence({1, 2, 3, 4, 1, 2, 3}), 1);
  EXPECT_EQ(evidence({1, 2, 3, 4, 5, 1, 2, 3, 4}), 2);
  EXPECT_EQ(evidence(tokens(20, 3)), 3);
}

TEST(LookupDrafter, SharesNothingBetweenRequests) {
  const lookup_drafter drafts{{}};
  const auto theirs = drafts.open();
  theirs->commit(tokens{1, 2, 3, 4, 5, 1, 2});
  const auto mine = drafts.open();
  EXPECT_TRUE(mine->propose(tokens{9, 1, 2}, 4).tokens.empty());
  EXPECT_EQ(theirs->propose(tokens{1, 2, 3, 4, 5, 1, 2}, 3).tokens,
            (tokens{3, 4}));
}

TEST(LookupDrafter, ChangesNoTokenAndIsOftenRight) {
  int accepted = 0;
  for (std::uint64_t run = 0; run < 300; ++run) {
    draws random{run};
    const fake_target target{
        .seed = run, .vocabulary = 12, .order = run % 3 == 0 ? 0U : 2U};
    fake_request request;
    // Case 1 of those that servers got wrong: one word 48 times.
    request.prompt = run % 5 == 0 ? tokens(48, 3) : drawn(run, 40, 12);
    request.budget = random.between(1, 64);
    request.context = 2000;
    const int width = random.between(2, 16);
    const auto classic = testing::classic_loop(target, request);
    const auto run_played = play(target, request, lookup_drafter{{}},
                                 width_set::up_to(width), width);
    ASSERT_EQ(run_played.emitted, classic.emitted) << run;
    ASSERT_EQ(run_played.cached, classic.cache.back()) << run;
    accepted += run_played.accepted();
  }
  EXPECT_GT(accepted, 2000);
}

TEST(DeclineReason, HasNames) {
  for (int i = 0; i < decline_reasons; ++i) {
    const auto reason = static_cast<decline_reason>(i);
    EXPECT_EQ(decline_reason_of(name_of(reason)), reason);
  }
  EXPECT_FALSE(decline_reason_of("because"));
}

}  // namespace
}  // namespace vouch::engine
