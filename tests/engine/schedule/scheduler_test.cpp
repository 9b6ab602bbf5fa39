#include <gtest/gtest.h>

#include "tests/engine/schedule/harness.hpp"

namespace vouch::engine::test {
namespace {

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

// Under any other order an account would be of no use, and stay for ever.
TEST(Scheduler, OnlyTheFairOrderRemembersTenants) {
  policy p;
  harness h{p, pool_of(16), 1};
  sequence_id id = 0;
  const auto serve = [&](int tenants) {
    for (int i = 0; i < tenants; ++i) {
      auto s = make_start(++id, prompt_of(5, 1), 300);
      s.tenant = std::to_string(id);
      EXPECT_EQ(h.add(s), rejection::none);
    }
    h.drain();
  };
  serve(20);
  EXPECT_EQ(h.sched.stats().tenants, 0);
  p.order.by = order_by::fair;
  h.set_policy(p);
  serve(20);
  EXPECT_GT(h.sched.stats().tenants, 0);
  p.order.by = order_by::fcfs;
  h.set_policy(p);
  EXPECT_EQ(h.sched.stats().tenants, 0);
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

// All choices of a prompt are one request to the queue.
TEST(Scheduler, SiblingsCountOnceInTheQueue) {
  policy p;
  p.limits.max_queued_requests = 1;
  p.limits.max_queued_prompt_tokens = 10;
  harness h{p, pool_of(64), 1};
  const auto add = [&](sequence_id id, sequence_id leader) {
    auto s = make_start(id, prompt_of(20, leader), 2);
    s.sibling_of = id == leader ? 0 : leader;
    s.sampling.choice = static_cast<std::uint32_t>(id - leader);
    return h.add(s);
  };
  for (const sequence_id leader : {10U, 20U}) {
    EXPECT_EQ(add(leader, leader), rejection::none);
    EXPECT_EQ(add(leader + 1, leader), rejection::none);
    EXPECT_EQ(add(leader + 2, leader), rejection::none);
    EXPECT_EQ(h.sched.stats().queued_requests, 1);
    EXPECT_EQ(h.sched.stats().waiting_prompt_tokens, 20);
    EXPECT_EQ(add(30, 30), rejection::queue_full);
    h.drain();
    EXPECT_EQ(h.sched.stats().queued_requests, 0);
  }
  // The prompt once a request, whatever its choices.
  EXPECT_EQ(h.sched.stats().prompt_tokens, 40U);
  EXPECT_EQ(h.sched.stats().prefix_queries, 40U);
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

TEST(Scheduler, IgnoreEosKeepsTheRequestsOwnStopTokens) {
  harness h{policy{}, pool_of(64), 1};
  auto s = make_start(1, prompt_of(10, 1), 500);
  s.sampling.ignore_eos = true;
  s.sampling.stop_tokens = {9};
  s.sampling.request_stop_tokens = {4};
  s.sampling.min_tokens = 3;
  h.add(s);
  h.drain();
  EXPECT_EQ(h.all.at(1).end.reason, finish_reason::stop);
  EXPECT_EQ(h.all.at(1).end.stop_token, 4);
  EXPECT_GE(h.all.at(1).tokens.size(), 3U);
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
