#include <gtest/gtest.h>

#include "tests/engine/schedule/harness.hpp"

namespace vouch::engine::test {
namespace {

TEST(ScheduleMemory, HugeMaxTokensCostNothingUpFront) {
  harness h{policy{}, pool_of(8, 100), 1};
  h.add(make_start(1, prompt_of(10, 1), std::int64_t{1} << 31));
  h.plan();
  EXPECT_EQ(h.sched.stats().free_blocks, 7);
  h.complete();
  h.drain();
  EXPECT_EQ(h.all.at(1).tokens.size(), 90U);
  EXPECT_EQ(h.all.at(1).end.reason, finish_reason::length);
}

TEST(ScheduleMemory, OneThatIsAloneAndFillsThePoolEndsWithLength) {
  for (const int flights : {1, 2}) {
    harness h{policy{}, pool_of(3), flights};
    h.add(make_start(1, prompt_of(10, 1), 1000));
    h.drain();
    // 48 rows, and a last token that needs none.
    EXPECT_EQ(h.all.at(1).tokens.size(), 39U);
    EXPECT_EQ(h.all.at(1).end.reason, finish_reason::length);
  }
}

// Case 12, 16: the second time the prompt comes from the cache, all but the
// last row, and the text is the same (the harness compares it).
TEST(ScheduleMemory, APromptSeenBeforeComesFromTheCache) {
  harness h{policy{}, pool_of(64), 1};
  for (const int size : {64, 63, 65, 5}) {
    const auto a = static_cast<sequence_id>(size * 10);
    h.add(make_start(a, prompt_of(size, 9 + a), 20));
    h.drain();
    EXPECT_EQ(h.all.at(a).end.cached_tokens, 0);
    h.add(make_start(a + 1, prompt_of(size, 9 + a), 20));
    h.drain();
    EXPECT_EQ(h.all.at(a + 1).end.cached_tokens,
              size == 64 ? 63 : size / 16 * 16);
    auto scored = make_start(a + 2, prompt_of(size, 9 + a), 20);
    scored.prompt_logprobs = true;
    h.add(scored);
    h.drain();
    EXPECT_EQ(h.all.at(a + 2).end.cached_tokens, 0);
  }
}

TEST(ScheduleMemory, TheNextTurnOfAChatHitsWhatWasGenerated) {
  harness h{policy{}, pool_of(64), 1};
  auto text = prompt_of(40, 1);
  std::int64_t before = 0;
  for (sequence_id turn = 1; turn <= 4; ++turn) {
    h.add(make_start(turn, text, 30));
    h.drain();
    const auto& s = h.all.at(turn);
    EXPECT_EQ(s.end.cached_tokens, before);
    text.insert(text.end(), s.tokens.begin(), s.tokens.end());
    // The last emitted token has no row.
    before = (static_cast<std::int64_t>(text.size()) - 1) / 16 * 16;
    text.push_back(3);
    text.push_back(5);
  }
}

TEST(ScheduleMemory, ChoicesShareTheirPrompt) {
  for (const int size : {20, 32, 33, 1}) {
    policy p;
    p.cache.prefix_cache = false;
    harness h{p, pool_of(64), 1};
    for (sequence_id i = 1; i <= 4; ++i) {
      auto s = make_start(i, prompt_of(size, 1), 12);
      s.sampling.choice = static_cast<std::uint32_t>(i - 1);
      s.sibling_of = i > 1 ? 1 : 0;
      h.add(s);
    }
    h.turn();
    EXPECT_EQ(h.last_plan.work.items.size(), 1U);
    h.drain();
    // The prompt once, and its last row for each of the others.
    EXPECT_EQ(h.sched.stats().prefill_rows, static_cast<unsigned>(size + 3));
    EXPECT_EQ(h.sched.stats().free_blocks, 64);
  }
}

TEST(ScheduleMemory, ChoicesOutliveTheirLeader) {
  harness h{policy{}, pool_of(64), 1};
  for (sequence_id i = 1; i <= 3; ++i) {
    auto s = make_start(i, prompt_of(30, 1), 12);
    s.sampling.choice = static_cast<std::uint32_t>(i - 1);
    s.sibling_of = i > 1 ? 1 : 0;
    h.add(s);
  }
  h.plan();
  h.abort(1);
  h.complete();
  h.drain();
  EXPECT_EQ(h.all.at(3).tokens.size(), 12U);
}

// Case 14.
TEST(ScheduleMemory, TwoLongOnesInASmallPoolBothEnd) {
  for (const auto victim : {preempt_victim::newest, preempt_victim::largest,
                            preempt_victim::lowest_priority}) {
    for (const int flights : {1, 2}) {
      for (const bool cache : {true, false}) {
        policy p;
        p.preempt.victim = victim;
        p.cache.prefix_cache = cache;
        harness h{p, pool_of(10), flights};
        auto first = make_start(1, prompt_of(60, 1), 100);
        first.priority = 9;
        h.add(first);
        h.add(make_start(2, prompt_of(30, 2), 100));
        h.drain();
        // The oldest is never sent away, whatever its size and priority.
        EXPECT_LE(h.all.at(1).max_gap, 2U);
        EXPECT_EQ(h.all.at(1).tokens.size(), 100U);
        EXPECT_EQ(h.all.at(2).tokens.size(), 100U);
        EXPECT_GT(h.sched.stats().preemptions, 0U);
      }
    }
  }
}

TEST(ScheduleMemory, MemoryThatIsOnItsWayIsWaitedFor) {
  policy p;
  p.cache.prefix_cache = false;
  harness h{p, pool_of(12), 2};
  for (sequence_id i = 1; i <= 4; ++i) {
    h.add(make_start(i, prompt_of(34 - 3 * static_cast<int>(i), i), 100));
  }
  // The victim's blocks come back with the step in flight; nobody else has to
  // go meanwhile.
  while (h.sched.stats().preemptions == 0) ASSERT_TRUE(h.turn());
  EXPECT_EQ(h.sched.stats().preemptions, 1U);
  h.drain();
}

TEST(ScheduleMemory, AFullReservationIsNeverPreempted) {
  policy p;
  p.preempt.mode = preempt_mode::off;
  harness h{p, pool_of(10), 1};
  h.add(make_start(1, prompt_of(30, 1), 100));
  h.add(make_start(2, prompt_of(30, 2), 100));
  h.add(make_start(3, prompt_of(10, 3), 1 << 30));
  h.drain();
  EXPECT_EQ(h.sched.stats().preemptions, 0U);
  EXPECT_EQ(h.all.at(3).tokens.size(), 151U);
}

TEST(ScheduleMemory, PreemptedOnesResumeBeforeNewOnes) {
  policy p;
  p.order.by = order_by::shortest_prompt;
  harness h{p, pool_of(10), 1};
  h.add(make_start(1, prompt_of(30, 1), 100));
  h.add(make_start(2, prompt_of(30, 2), 100));
  while (h.sched.stats().preemptions == 0) ASSERT_TRUE(h.turn());
  h.add(make_start(3, prompt_of(5, 3), 60));
  while (!h.all.at(1).done) ASSERT_TRUE(h.turn());
  EXPECT_TRUE(h.all.at(3).tokens.empty());
  h.drain();
}

// A leader whose prompt is scored registers no blocks, so its sibling does. The
// first stands in the cache already, the second does not: nobody may cache a
// block that the leader holds behind one that it does not hold.
TEST(ScheduleMemory, ASiblingOnMixedBlocksCachesNoneThatItShares) {
  harness h{policy{}, pool_of(64), 1};
  const auto text = prompt_of(40, 1);
  h.add(make_start(1, {text.begin(), text.begin() + 20}, 1));
  h.drain();
  auto leader = make_start(2, text, 60);
  leader.prompt_logprobs = true;
  h.add(leader);
  auto sibling = make_start(3, text, 3);
  sibling.sibling_of = 2;
  sibling.sampling.choice = 1;
  h.add(sibling);
  // The harness checks after every call that what looks free can be evicted.
  while (!h.all.at(3).done) ASSERT_TRUE(h.turn());
  EXPECT_FALSE(h.all.at(2).done);
  h.drain();
}

// 16 prompts of 35 blocks go round in 512 blocks: strict order of use would
// have evicted each just before it comes again.
TEST(ScheduleMemory, ACycleThatDoesNotFitStillHits) {
  harness h{policy{}, pool_of(512), 1};
  sequence_id id = 0;
  std::uint64_t before = 0;
  for (int round = 0; round < 6; ++round) {
    if (round == 2) before = h.sched.stats().prefix_hits;
    for (std::uint64_t prompt = 1; prompt <= 16; ++prompt) {
      h.add(make_start(++id, prompt_of(555, prompt), 4));
      h.drain();
    }
  }
  const auto share = static_cast<double>(h.sched.stats().prefix_hits - before) /
                     (4 * 16 * 555);
  RecordProperty("hit_percent", static_cast<int>(100 * share));
  EXPECT_GT(share, 0.6) << share;
}

}  // namespace
}  // namespace vouch::engine::test
