#include <gtest/gtest.h>

#include "tests/engine/schedule/harness.hpp"

namespace vouch::engine::test {
namespace {

// Case 15: while prompts keep arriving, every stream has a token every step.
TEST(ScheduleOrder, ArrivalsDoNotStretchTheGapBetweenTokens) {
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

TEST(ScheduleOrder, AHugePromptAndSmallOnesProgressTogether) {
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

TEST(ScheduleOrder, TheWaitIsBoundedUnderEveryPolicy) {
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

TEST(ScheduleOrder, OrdersAreWhatTheirNamesSay) {
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

TEST(ScheduleOrder, FairSharesBetweenTenants) {
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

TEST(ScheduleOrder, PrefillKeepsItsDistance) {
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

}  // namespace
}  // namespace vouch::engine::test
