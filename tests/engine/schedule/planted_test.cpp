#include <memory>

#include <gtest/gtest.h>

#include "tests/engine/schedule/harness.hpp"

namespace vouch::engine::test {
namespace {

void plant(harness& h, const char* faults) {
  h.sched.set_faults(
      std::make_shared<const fault_plan>(fault_plan::parse(faults)));
}

/// The first item of the second request for a prompt of `size` tokens, with
/// these faults; other requests' blocks are in the cache too.
step_item second_time(int size, const char* faults) {
  harness h{policy{}, pool_of(64), 1};
  h.add(make_start(1, prompt_of(size, 1), 20));
  h.add(make_start(2, prompt_of(size, 2), 20));
  h.drain();
  if (faults != nullptr) plant(h, faults);
  h.sched.add(make_start(3, prompt_of(size, 1), 20), h.now);
  auto planned = h.sched.plan(h.now);
  EXPECT_EQ(h.sched.check_invariants(), "");
  return planned->work.items.at(0);
}

TEST(SchedulePlanted, AHitMapsAWrongBlock) {
  const auto sound = second_time(70, nullptr);
  ASSERT_EQ(sound.position, 64);
  const auto wrong = second_time(70, "op=prefix_cache wrong_block=1");
  ASSERT_EQ(wrong.position, 64);
  EXPECT_NE(wrong.blocks[3], sound.blocks[3]);
  EXPECT_EQ(wrong.blocks[2], sound.blocks[2]);
  const auto elsewhere =
      second_time(70, "op=prefix_cache position>=65 wrong_block=1");
  EXPECT_EQ(elsewhere.blocks, sound.blocks);
  const auto later =
      second_time(70, "op=prefix_cache after_step=1 wrong_block=1");
  EXPECT_EQ(later.blocks, sound.blocks);
}

TEST(SchedulePlanted, AHitMapsOneBlockTooMany) {
  EXPECT_EQ(second_time(90, nullptr).position, 80);
  const auto more = second_time(99, "op=prefix_cache extra_block=1");
  EXPECT_EQ(more.position, 98);
  harness h{policy{}, pool_of(64), 1};
  h.add(make_start(1, prompt_of(40, 1), 4));
  h.drain();
  plant(h, "op=prefix_cache extra_block=1");
  auto longer = prompt_of(40, 1);
  const auto rest = prompt_of(60, 5);
  longer.insert(longer.end(), rest.begin(), rest.end());
  h.sched.add(make_start(2, longer, 4), h.now);
  EXPECT_EQ(h.sched.plan(h.now)->work.items.at(0).position, 48);
  EXPECT_EQ(h.sched.check_invariants(), "");
}

/// Rows of one resumed sequence, from its admission on.
std::vector<std::pair<std::int32_t, std::size_t>> resumed(const char* faults) {
  policy rules;
  rules.cache.prefix_cache = false;
  rules.prefill.chunk_tokens = 24;
  harness h{rules, pool_of(9), 1};
  h.add(make_start(1, prompt_of(40, 1), 60));
  h.add(make_start(2, prompt_of(40, 2), 40));
  while (h.sched.stats().preemptions == 0) h.turn();
  if (faults != nullptr) plant(h, faults);
  while (h.sched.stats().waiting > 0) h.turn();
  std::vector<std::pair<std::int32_t, std::size_t>> rows;
  const auto look = [&](const scheduler::planned_step& planned) {
    for (const auto& item : planned.work.items) {
      if (item.kind == row_kind::prefill) {
        rows.emplace_back(item.position, item.tokens.size());
      }
    }
  };
  look(h.last_plan);
  while (auto planned = h.sched.plan(h.now)) {
    look(*planned);
    // The device would notice the missing rows; only the plan counts here.
    step_result result;
    result.id = planned->work.id;
    for (const auto& item : planned->work.items) {
      step_item_result one;
      one.slot = item.slot;
      one.picks.resize(item.tokens.size() -
                       static_cast<std::size_t>(item.pick_begin));
      for (auto& pick : one.picks) pick.token = 7;
      result.items.push_back(one);
    }
    h.sched.update(result);
    EXPECT_EQ(h.sched.check_invariants(), "");
  }
  EXPECT_TRUE(h.sched.idle());
  return rows;
}

TEST(SchedulePlanted, AResumedSequenceLeavesOutItsLastBlock) {
  const auto sound = resumed(nullptr);
  const auto faulty = resumed("op=preemption");
  ASSERT_GE(sound.size(), 2U);
  const auto end =
      sound.back().first + static_cast<std::int32_t>(sound.back().second);
  ASSERT_EQ(faulty.back().second, 1U);
  EXPECT_EQ(faulty.back().first, end - 1);
  std::int32_t computed = 0;
  for (const auto& [position, rows] : faulty) {
    if (rows == 1) continue;
    computed = position + static_cast<std::int32_t>(rows);
  }
  EXPECT_EQ(computed, end - 1 - 16);
}

std::vector<token_id> text_with(const char* faults, sequence_start start) {
  harness h{policy{}, pool_of(64), 1};
  burst_rules bursts;
  bursts.widths = width_set::up_to(4);
  bursts.positions = 1000;
  bursts.drafts.vocabulary = vocabulary;
  h.sched.set_burst_rules(bursts);
  if (faults != nullptr) plant(h, faults);
  auto longer = start;
  longer.sampling.request_stop_tokens.clear();
  const auto known = text_alone(longer, h.limits).tokens;
  std::vector<token_id> text;
  h.sched.add(start, 0);
  for (;;) {
    for (const auto& wish : h.sched.draft_wishes()) {
      h.sched.offer(wish.id, std::span{known}.subspan(text.size()));
    }
    const auto planned = h.sched.plan(0);
    if (!planned) return text;
    h.device.submit(*planned, 512);
    for (const auto& u : h.sched.update(h.device.complete())) {
      for (const auto& t : u.tokens) text.push_back(t.token);
    }
  }
}

TEST(SchedulePlanted, AStopTokenInsideAnAcceptedRunIsNotNoticed) {
  auto start = make_start(1, prompt_of(20, 3), 24);
  const auto whole = text_with(nullptr, start);
  ASSERT_EQ(whole.size(), 24U);
  // Row 0 comes from the prefill; blocks of 4 give tokens 1-4, 5-8, ... of
  // which the first three are drafts.
  const auto ends_at = [&](std::size_t at) {
    auto stopped = start;
    stopped.sampling.request_stop_tokens = {whole[at]};
    return stopped;
  };
  const auto first = [&](std::size_t from, std::size_t to) {
    for (auto i = from; i < to; ++i) {
      const auto end = whole.begin() + static_cast<std::ptrdiff_t>(i);
      if ((i - 1) % 4 != 3 && std::find(whole.begin(), end, whole[i]) == end) {
        return i;
      }
    }
    return std::size_t{0};
  };
  const auto at = first(1, 24);
  ASSERT_GT(at, 0U);
  EXPECT_EQ(text_with(nullptr, ends_at(at)).size(), at);
  EXPECT_GT(text_with("op=stop", ends_at(at)).size(), at);
  EXPECT_EQ(text_with("op=stop item_row>=3", ends_at(at)).size(), at);
}

}  // namespace
}  // namespace vouch::engine::test
