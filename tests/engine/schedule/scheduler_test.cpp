#include <gtest/gtest.h>

#include "tests/engine/schedule/harness.hpp"

namespace vouch::engine::test {
namespace {

executor_limits pool_of(std::int32_t blocks, std::int32_t context = 4096) {
  executor_limits l;
  l.blocks = blocks;
  l.slots = 64;
  l.step_rows = 512;
  l.context = context;
  return l;
}

/// The next id, with a prompt that no other id has.
sequence_start fresh(sequence_id& id, int prompt, std::int64_t max_tokens) {
  ++id;
  return make_start(id, prompt_of(prompt, id), max_tokens);
}

TEST(Scheduler, ServesOneSequence) {
  harness h{policy{}, pool_of(64), 1};
  EXPECT_EQ(h.add(make_start(1, prompt_of(20, 1), 10)), rejection::none);
  h.drain();
  EXPECT_EQ(h.all.at(1).tokens.size(), 10U);
  EXPECT_EQ(h.steps(), 10U);
  const auto stats = h.sched.stats();
  EXPECT_EQ(stats.prompt_tokens, 20U);
  EXPECT_EQ(stats.generation_tokens, 10U);
  EXPECT_EQ(stats.prefill_rows, 20U);
  EXPECT_EQ(stats.decode_rows, 9U);
}

TEST(Scheduler, TurnsAwayWhatCannotBeServed) {
  policy p;
  p.limits.max_queued_requests = 2;
  harness h{p, pool_of(4, 100), 1};
  EXPECT_EQ(h.add(make_start(1, {}, 1)), rejection::empty_prompt);
  EXPECT_EQ(h.add(make_start(1, prompt_of(101, 1), 1)),
            rejection::prompt_too_long);
  EXPECT_EQ(h.add(make_start(1, prompt_of(100, 1), 1)),
            rejection::prompt_too_long);
  EXPECT_EQ(h.add(make_start(1, prompt_of(65, 1), 1)),
            rejection::prompt_larger_than_pool);
  EXPECT_EQ(h.add(make_start(1, prompt_of(64, 1), 1)), rejection::none);
  EXPECT_EQ(h.add(make_start(2, prompt_of(64, 1), 1)), rejection::none);
  EXPECT_EQ(h.add(make_start(3, prompt_of(64, 1), 1)), rejection::queue_full);
  h.drain();
  p.limits.max_queued_requests = 100;
  p.limits.max_queued_prompt_tokens = 50;
  h.set_policy(p);
  EXPECT_EQ(h.add(make_start(4, prompt_of(60, 1), 1)), rejection::none);
  EXPECT_EQ(h.add(make_start(5, prompt_of(1, 1), 1)),
            rejection::queued_tokens_full);
  h.drain();
}

TEST(Scheduler, HugeMaxTokensCostNothingUpFront) {
  harness h{policy{}, pool_of(8, 100), 1};
  h.add(make_start(1, prompt_of(10, 1), std::int64_t{1} << 31));
  h.plan();
  EXPECT_EQ(h.sched.stats().free_blocks, 7);
  h.complete();
  h.drain();
  EXPECT_EQ(h.all.at(1).tokens.size(), 90U);
  EXPECT_EQ(h.all.at(1).end.reason, finish_reason::length);
}

TEST(Scheduler, OneThatIsAloneAndFillsThePoolEndsWithLength) {
  for (const int flights : {1, 2}) {
    harness h{policy{}, pool_of(3), flights};
    h.add(make_start(1, prompt_of(10, 1), 1000));
    h.drain();
    // 48 rows, and a last token that needs none.
    EXPECT_EQ(h.all.at(1).tokens.size(), 39U);
    EXPECT_EQ(h.all.at(1).end.reason, finish_reason::length);
  }
}

TEST(Scheduler, MaxTokensZeroGivesPromptLogprobsAlone) {
  policy p;
  p.prefill.chunk_tokens = 7;
  harness h{p, pool_of(16), 2};
  auto s = make_start(1, prompt_of(40, 1), 0);
  s.prompt_logprobs = true;
  h.add(s);
  h.add(make_start(2, prompt_of(1, 1), 0));
  h.drain();
  EXPECT_EQ(h.all.at(1).scores.size(), 39U);
  EXPECT_EQ(h.all.at(1).end.reason, finish_reason::length);
  EXPECT_TRUE(h.all.at(2).tokens.empty());
}

// Case 12, 16: the second time the prompt comes from the cache, all but the
// last row, and the text is the same (the harness compares it).
TEST(Scheduler, APromptSeenBeforeComesFromTheCache) {
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

TEST(Scheduler, TheNextTurnOfAChatHitsWhatWasGenerated) {
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

TEST(Scheduler, ChoicesShareTheirPrompt) {
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

TEST(Scheduler, ChoicesOutliveTheirLeader) {
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

// Case 13.
TEST(Scheduler, AThousandAbortedLeaveNothingBehind) {
  for (const int flights : {1, 2}) {
    harness h{policy{}, pool_of(200), flights};
    for (sequence_id i = 1; i <= 1000; ++i) {
      h.add(make_start(i, prompt_of(5 + static_cast<int>(i % 50), i), 100));
      if (i % 3 != 0) h.turn();
      if (i > 10) h.abort(i - 10);
    }
    for (sequence_id i = 991; i <= 1000; ++i) h.abort(i);
    h.drain();
    const auto stats = h.sched.stats();
    EXPECT_EQ(stats.free_blocks + stats.cached_blocks, 200);
    h.add(make_start(2000, prompt_of(20, 1), 10));
    h.drain();
    EXPECT_EQ(h.all.at(2000).tokens.size(), 10U);
    EXPECT_LE(h.device.open_slots(), 1U);
  }
}

// Case 14.
TEST(Scheduler, TwoLongOnesInASmallPoolBothEnd) {
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

TEST(Scheduler, MemoryThatIsOnItsWayIsWaitedFor) {
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

TEST(Scheduler, AFullReservationIsNeverPreempted) {
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

TEST(Scheduler, PreemptedOnesResumeBeforeNewOnes) {
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

// Case 15: while prompts keep arriving, every stream has a token every step.
TEST(Scheduler, ArrivalsDoNotStretchTheGapBetweenTokens) {
  for (const auto by : {order_by::fcfs, order_by::priority,
                        order_by::shortest_prompt, order_by::fair}) {
    policy p;
    p.order.by = by;
    p.limits.max_running = 128;
    auto limits = pool_of(4000);
    limits.slots = 128;
    harness h{p, limits, 1};
    sequence_id id = 0;
    for (int i = 0; i < 100; ++i) {
      h.add(fresh(id, 10, 200));
    }
    for (int i = 0; i < 300; ++i) {
      h.add(fresh(id, i % 50 == 0 ? 2000 : 40, 5));
      ASSERT_TRUE(h.turn());
    }
    h.drain();
    for (const auto& [n, s] : h.all) EXPECT_LE(s.max_gap, 1U) << n;
  }
}

TEST(Scheduler, AHugePromptAndSmallOnesProgressTogether) {
  policy p;
  p.limits.step_tokens = 64;
  p.limits.max_running = 16;
  p.prefill.chunk_tokens = 64;
  p.prefill.long_prompt_tokens = 256;
  for (const int parallel : {1, 8}) {
    p.prefill.max_parallel = parallel;
    harness h{p, pool_of(1000), 1};
    h.add(make_start(1, prompt_of(3200, 1), 3));
    ASSERT_TRUE(h.turn());
    sequence_id id = 1;
    // A steady stream of small ones, more than the machine can take.
    for (int i = 0; i < 150; ++i) {
      for (int j = 0; j < 2; ++j) h.add(fresh(id, 30, 2));
      ASSERT_TRUE(h.turn());
      // The first ones are not kept out by it.
      if (i == 4) {
        EXPECT_FALSE(h.all.at(2).tokens.empty());
      }
    }
    // It has half of each step, or every second one: 3,200 rows take no more
    // than 100 steps of 32 rows.
    EXPECT_FALSE(h.all.at(1).tokens.empty());
    h.drain();
  }
}

/// Steps until the first token of an unfavoured request while the policy's
/// favourites keep arriving.
std::uint64_t wait_of(policy p, const sequence_start& unlucky, bool tenants) {
  p.limits.max_running = 4;
  p.limits.max_queued_requests = 1000;
  p.order.ageing = 50;
  harness h{p, pool_of(200), 1};
  sequence_id id = 1;
  for (int i = 0; i < 20; ++i) h.add(fresh(id, 8, 10));
  h.add(unlucky);
  for (int i = 0; i < 1000 && h.all.at(1).tokens.empty(); ++i) {
    auto s = fresh(id, 8, 10);
    if (tenants) s.tenant = std::to_string(id);
    if (i % 2 == 0) h.add(s);
    if (!h.turn()) break;
  }
  const auto& s = h.all.at(1);
  EXPECT_FALSE(s.tokens.empty());
  return s.first_step - s.added_step;
}

TEST(Scheduler, TheWaitIsBoundedUnderEveryPolicy) {
  for (const auto by : {order_by::fcfs, order_by::priority,
                        order_by::shortest_prompt, order_by::fair}) {
    policy p;
    p.order.by = by;
    auto s = make_start(1, prompt_of(300, 1), 5);
    s.priority = 1000;
    // 50 steps until it has aged, then the requests that came before it, 20 at
    // 4 a time and 10 steps each, and its own prompt.
    EXPECT_LE(wait_of(p, s, by == order_by::fair), 50U + 60U + 5U)
        << static_cast<int>(by);
  }
}

TEST(Scheduler, OrdersAreWhatTheirNamesSay) {
  const auto order = [](order_by by) {
    policy p;
    p.order.by = by;
    p.limits.max_running = 1;
    harness h{p, pool_of(64), 1};
    const int sizes[] = {30, 20, 10};
    const int priorities[] = {1, 0, 2};
    for (int i = 0; i < 3; ++i) {
      auto s = make_start(static_cast<sequence_id>(i + 1),
                          prompt_of(sizes[i], 1), 2);
      s.priority = priorities[i];
      h.add(s);
    }
    h.drain();
    std::vector<std::pair<std::uint64_t, sequence_id>> firsts;
    for (const auto& [id, s] : h.all) firsts.emplace_back(s.first_step, id);
    std::sort(firsts.begin(), firsts.end());
    std::string text;
    for (const auto& [step, id] : firsts) text += std::to_string(id);
    return text;
  };
  EXPECT_EQ(order(order_by::fcfs), "123");
  EXPECT_EQ(order(order_by::priority), "213");
  EXPECT_EQ(order(order_by::shortest_prompt), "321");
  EXPECT_EQ(order(order_by::fair), "123");
}

TEST(Scheduler, FairSharesBetweenTenants) {
  policy p;
  p.order.by = order_by::fair;
  p.limits.max_running = 2;
  harness h{p, pool_of(64), 1};
  sequence_id id = 0;
  for (int i = 0; i < 30; ++i) {
    auto s = fresh(id, 50, 20);
    s.tenant = "busy";
    h.add(s);
  }
  auto s = make_start(100, prompt_of(50, 100), 20);
  s.tenant = "quiet";
  h.add(s);
  while (!h.all.at(100).done) ASSERT_TRUE(h.turn());
  std::int64_t before = 0;
  for (const auto& [n, other] : h.all) before += n < 100 && other.done ? 1 : 0;
  EXPECT_LE(before, 12);
  h.drain();
}

TEST(Scheduler, PrefillKeepsItsDistance) {
  policy p;
  p.prefill.decode_steps_between_chunks = 3;
  p.prefill.chunk_tokens = 16;
  harness h{p, pool_of(64), 1};
  h.add(make_start(1, prompt_of(5, 1), 60));
  ASSERT_TRUE(h.turn());
  h.add(make_start(2, prompt_of(64, 2), 3));
  std::string kinds;
  for (int i = 0; i < 13; ++i) {
    ASSERT_TRUE(h.turn());
    const bool prefill =
        h.last_plan.work.items.back().kind == row_kind::prefill;
    kinds += prefill ? 'P' : 'd';
  }
  EXPECT_EQ(kinds, "dddPdddPdddPd");
  h.drain();
}

TEST(Scheduler, LooksAheadWhereHistoryAllows) {
  for (const bool penalty : {false, true}) {
    harness h{policy{}, pool_of(64), 2};
    auto s = make_start(1, prompt_of(10, 1), 30);
    s.sampling.repetition_penalty = penalty ? 1.2F : 1.0F;
    h.add(s);
    bool ahead = false;
    while (h.turn()) {
      ahead = ahead || h.last_plan.work.items.front().input_is_last_pick;
    }
    EXPECT_NE(ahead, penalty);
    EXPECT_EQ(h.all.at(1).tokens.size(), 30U);
    // Nothing is planned past the budget.
    EXPECT_EQ(h.sched.stats().decode_rows, 29U);
  }
}

TEST(Scheduler, AStopFoundLateWastesARowAndNothingElse) {
  harness h{policy{}, pool_of(64), 2};
  auto s = make_start(1, prompt_of(10, 1), 500);
  s.sampling.stop_tokens = {4};
  ASSERT_EQ(text_alone(s, h.limits).reason, finish_reason::stop);
  h.add(s);
  h.drain();
  EXPECT_EQ(h.all.at(1).end.stop_token, 4);
  const auto made = h.all.at(1).tokens.size();
  EXPECT_EQ(h.sched.stats().decode_rows, made + 1);
}

TEST(Scheduler, AnItemsErrorEndsItsSequenceAlone) {
  harness h{policy{}, pool_of(64), 1};
  for (sequence_id i = 1; i <= 3; ++i) {
    h.add(make_start(i, prompt_of(10, i), 10));
  }
  h.turn();
  h.plan();
  h.complete([](step_result& r) {
    r.items[1].error = "logits of row 0 hold a NaN";
    r.items[1].picks.clear();
  });
  EXPECT_EQ(h.all.at(2).end.reason, finish_reason::failed);
  EXPECT_EQ(h.all.at(2).end.error, "logits of row 0 hold a NaN");
  h.drain();
  EXPECT_EQ(h.all.at(1).tokens.size(), 10U);
  EXPECT_EQ(h.all.at(3).tokens.size(), 10U);
}

TEST(Scheduler, AFailedStepEndsItsSequences) {
  harness h{policy{}, pool_of(64), 2};
  h.add(make_start(1, prompt_of(10, 1), 10));
  h.plan();
  h.plan();
  h.add(make_start(2, prompt_of(10, 2), 10));
  h.complete([](step_result& r) {
    r.error = "out of memory";
    r.items.clear();
  });
  EXPECT_EQ(h.all.at(1).end.error, "out of memory");
  h.drain();
  EXPECT_EQ(h.all.at(2).tokens.size(), 10U);
}

TEST(Scheduler, TimeoutsEndWhoWaitsOrRunsTooLong) {
  policy p;
  p.limits.max_running = 1;
  p.limits.queue_timeout = 1.0;
  p.limits.request_timeout = 3.0;
  harness h{p, pool_of(64), 1};
  h.add(make_start(1, prompt_of(10, 1), 100));
  h.add(make_start(2, prompt_of(10, 2), 10));
  h.turn();
  h.now = 999;
  h.expire();
  EXPECT_FALSE(h.all.at(2).done);
  h.now = 1000;
  h.expire();
  EXPECT_TRUE(h.all.at(2).end.timed_out);
  EXPECT_EQ(h.all.at(2).end.error, "queue_timeout of 1 s passed");
  EXPECT_FALSE(h.all.at(1).done);
  h.now = 3000;
  h.plan();
  h.expire();
  EXPECT_EQ(h.all.at(1).end.error, "request_timeout of 3 s passed");
  h.drain();
}

TEST(Scheduler, RejectsAResultOfAnotherStep) {
  harness h{policy{}, pool_of(64), 1};
  h.add(make_start(1, prompt_of(10, 1), 10));
  h.plan();
  step_result r;
  r.id = 7;
  EXPECT_THROW(h.sched.update(r), std::logic_error);
  h.complete();
  h.drain();
}

}  // namespace
}  // namespace vouch::engine::test
