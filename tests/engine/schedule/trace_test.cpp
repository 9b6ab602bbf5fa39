// Seeded random traces: whatever happens, every text is the text alone, and
// nothing is lost.
#include <cstdlib>
#include <optional>
#include <random>
#include <set>
#include <string>
#include <tuple>

#include <gtest/gtest.h>

#include "tests/engine/schedule/harness.hpp"

namespace vouch::engine::test {
namespace {

struct trace_options {
  std::uint32_t seed = 0;
  order_by by = order_by::fcfs;
  int steps_in_flight = 1;
  bool failures = false;
  bool reloads = false;
  /// Drafts are verified, the gate borrows, audits hold.
  bool bursts = false;
};

class trace {
 public:
  explicit trace(const trace_options& o)
      : options_{o},
        random_{o.seed * 31 + static_cast<std::uint32_t>(o.by)},
        h_{make_policy(), make_limits(), o.steps_in_flight} {
    if (!o.bursts) return;
    h_.set_bursts(make_bursts());
    h_.drafts = [this](const draft_wish& wish, std::vector<token_id> next) {
      return make_drafts(wish, std::move(next));
    };
    h_.sched.set_audit_draw(
        [this](const audit_candidate&) { return one_in(3); });
  }

  void run() {
    const int calls = 400;
    for (int i = 0; i < calls; ++i) {
      act();
      if (testing::Test::HasFatalFailure()) return;
    }
    if (options_.bursts) end_audits();
    h_.drain();
    if (testing::Test::HasFatalFailure()) return;
    // Whatever happened, the next one is served.
    h_.add(make_start(1'000'000, prompt_of(20, 3), 5));
    h_.drain();
  }

  std::uint64_t audited() const { return audited_; }

  harness& h() { return h_; }

 private:
  std::uint32_t below(std::uint32_t n) { return random_() % n; }
  bool one_in(std::uint32_t n) { return below(n) == 0; }

  policy make_policy() {
    policy p;
    p.order.by = options_.by;
    p.order.ageing = 1 + static_cast<std::int32_t>(below(60));
    p.order.low_priority_value_first = one_in(2);
    p.limits.max_running = 1 + static_cast<std::int32_t>(below(12));
    p.limits.step_tokens =
        p.limits.max_running + static_cast<std::int32_t>(below(40));
    p.limits.max_queued_requests = 30;
    p.limits.max_queued_prompt_tokens = 1500;
    p.prefill.chunk_tokens =
        1 + static_cast<std::int32_t>(
                below(static_cast<std::uint32_t>(p.limits.step_tokens)));
    p.prefill.max_parallel =
        1 + static_cast<std::int32_t>(
                below(static_cast<std::uint32_t>(p.limits.max_running)));
    p.prefill.decode_steps_between_chunks =
        one_in(3) ? static_cast<std::int32_t>(below(4)) : 0;
    p.prefill.long_prompt_tokens = 10 + static_cast<std::int32_t>(below(80));
    p.cache.prefix_cache = !one_in(4);
    p.cache.reserve_full = one_in(4);
    p.cache.watermark = one_in(2) ? 0.0 : 0.1;
    p.preempt.mode = one_in(5) ? preempt_mode::off : preempt_mode::recompute;
    p.preempt.victim = static_cast<preempt_victim>(below(3));
    return p;
  }

  executor_limits make_limits() {
    executor_limits l;
    l.blocks = 4 + static_cast<std::int32_t>(below(one_in(2) ? 8 : 60));
    l.slots = 1 + static_cast<std::int32_t>(below(14));
    l.step_rows = 64;
    l.context = 40 + static_cast<std::int32_t>(below(120));
    return l;
  }

  burst_rules make_bursts() {
    burst_rules b;
    for (int w = 2; w <= 9; ++w) {
      if (!one_in(3)) b.widths.insert(w);
    }
    b.positions = one_in(3) ? below(120) : 4096;
    b.batched = !one_in(6);
    b.drafts.vocabulary = vocabulary;
    b.inexact = one_in(8);
    return b;
  }

  /// Right for a while, then not, in every way.
  std::vector<token_id> make_drafts(const draft_wish& wish,
                                    std::vector<token_id> next) {
    const auto what = below(6);
    if (what == 0) return {};
    if (what == 1) next.clear();
    next.resize(std::min<std::size_t>(next.size(), below(12)));
    while (next.size() < 10 && !one_in(4)) {
      next.push_back(static_cast<token_id>(below(vocabulary)));
    }
    if (one_in(10)) next.push_back(vocabulary);
    if (one_in(2)) {
      next.resize(std::min(next.size(), static_cast<std::size_t>(wish.most)));
    }
    return next;
  }

  /// What was drawn is what the sequence alone would have computed.
  void look_at_audits() {
    for (auto& record : h_.sched.take_audited()) {
      ++audited_;
      std::uint64_t row = 0;
      ASSERT_EQ(record.tokens.size(),
                static_cast<std::size_t>(record.position + record.rows));
      for (std::int32_t p = 0; p < record.position + record.rows; ++p) {
        row = mix(row, static_cast<std::uint64_t>(
                           record.tokens[static_cast<std::size_t>(p)]));
        ASSERT_EQ(h_.device.row_at(record.blocks, p), row);
        const auto hash = p - record.position - record.hash_begin;
        if (hash >= 0) {
          ASSERT_EQ(record.logits_hashes.at(static_cast<std::size_t>(hash)),
                    row);
        }
      }
      kept_.push_back(std::move(record));
    }
    for (const auto dropped : h_.sched.take_dropped_holds()) {
      ASSERT_EQ(std::erase_if(kept_,
                              [&](const auto& r) { return r.hold == dropped; }),
                1U);
    }
    // Rows that are held stay as they are.
    for (const auto& record : kept_) {
      std::uint64_t row = 0;
      for (const auto token : record.tokens) {
        row = mix(row, static_cast<std::uint64_t>(token));
      }
      ASSERT_EQ(
          h_.device.row_at(record.blocks,
                           static_cast<std::int64_t>(record.tokens.size()) - 1),
          row);
    }
    if (!kept_.empty() && one_in(4)) {
      h_.sched.release_hold(kept_.front().hold);
      kept_.erase(kept_.begin());
    }
  }

  void borrow() {
    if (lent_) {
      h_.sched.take_back(*lent_);
      lent_.reset();
    } else {
      lent_ = h_.sched.lend(below(6), below(3));
    }
  }

  void end_audits() {
    h_.sched.set_audit_draw({});
    while (h_.device.in_flight() > 0) h_.complete();
    look_at_audits();
    if (lent_) borrow();
    for (const auto& record : kept_) h_.sched.release_hold(record.hold);
    kept_.clear();
  }

  sequence_start make() {
    sequence_start s;
    s.id = ++ids_;
    const auto size = one_in(4) ? 16 * (1 + static_cast<int>(below(5)))
                                : 1 + static_cast<int>(below(90));
    s.prompt = prompt_of(size, below(4));
    // Prompts that part ways inside a block.
    if (one_in(3)) s.prompt.back() = static_cast<token_id>(below(vocabulary));
    s.max_tokens = one_in(6) ? (std::int64_t{1} << 31) : below(50);
    s.sampling.seed = below(3);
    if (one_in(2)) s.sampling.stop_tokens = {7};
    if (one_in(4)) s.sampling.request_stop_tokens = {11};
    if (one_in(5)) s.sampling.min_tokens = static_cast<int>(below(10));
    if (one_in(8)) s.sampling.ignore_eos = true;
    if (one_in(6)) s.sampling.repetition_penalty = 1.1F;
    if (one_in(4)) s.stop_strings = {"ab", "q", "7-"};
    s.prompt_logprobs = one_in(8);
    s.speculate = !one_in(8);
    s.priority = static_cast<std::int32_t>(below(3));
    s.tenant = std::string(1, static_cast<char>('a' + below(3)));
    return s;
  }

  void add() {
    sequence_start s = make();
    const auto leader = s.id;
    const auto choices = one_in(4) ? 2 + below(3) : 1;
    for (std::uint32_t i = 0; i < choices; ++i) {
      sequence_start choice = s;
      if (i > 0) {
        choice.id = ++ids_;
        choice.sibling_of = leader;
        choice.prompt_logprobs = false;
      }
      choice.sampling.choice = i;
      h_.add(std::move(choice));
    }
  }

  void spoil(step_result& r) {
    if (one_in(3)) {
      r.error = "the device is gone";
      r.items.clear();
    } else if (!r.items.empty()) {
      auto& item = r.items[below(static_cast<std::uint32_t>(r.items.size()))];
      item.error = "logits of row 0 hold a NaN";
      item.picks.clear();
      item.prompt_logprobs.clear();
    }
  }

  void act() {
    h_.now += below(3);
    if (options_.bursts) {
      look_at_audits();
      if (testing::Test::HasFatalFailure()) return;
      if (one_in(20)) borrow();
      if (lent_ && h_.sched.wants_loans_back()) borrow();
      if (one_in(40) && h_.device.in_flight() == 0) {
        h_.set_bursts(make_bursts());
      }
      if (one_in(100)) h_.sched.distrust();
    }
    const auto what = below(20);
    if (what < 4) {
      add();
    } else if (what == 4 && one_in(2) && ids_ > 0) {
      h_.abort(1 + below(ids_));
    } else if (what == 5 && options_.reloads && one_in(4)) {
      auto p = make_policy();
      p.limits.request_timeout = one_in(3) ? 0.1 : 0.0;
      p.limits.queue_timeout = one_in(3) ? 0.05 : 0.0;
      h_.set_policy(p);
    } else if (what == 6) {
      h_.expire();
    } else if (what < 14) {
      if (h_.device.in_flight() < h_.in_flight) h_.plan();
    } else if (h_.device.in_flight() > 0) {
      if (options_.failures && one_in(10)) {
        h_.complete([this](step_result& r) { spoil(r); });
      } else {
        h_.complete();
      }
    }
  }

  trace_options options_;
  std::mt19937 random_;
  harness h_;
  std::uint32_t ids_ = 0;
  std::optional<loan> lent_;
  std::vector<audit_record> kept_;
  std::uint64_t audited_ = 0;
};

/// VOUCH_TRACES=5000 for a soak.
std::uint32_t seeds() {
  const char* count = std::getenv("VOUCH_TRACES");
  return count != nullptr ? static_cast<std::uint32_t>(std::atoi(count)) : 100;
}

class Traces : public testing::TestWithParam<std::tuple<order_by, int>> {};

TEST_P(Traces, EveryTextIsTheTextAlone) {
  std::uint64_t preemptions = 0;
  std::uint64_t hits = 0;
  std::uint64_t done = 0;
  for (std::uint32_t seed = 1; seed <= seeds(); ++seed) {
    trace_options o;
    o.seed = seed;
    std::tie(o.by, o.steps_in_flight) = GetParam();
    o.failures = seed % 3 == 0;
    o.reloads = seed % 4 == 0;
    trace t{o};
    t.run();
    ASSERT_FALSE(HasFatalFailure()) << "seed " << seed;
    const auto stats = t.h().sched.stats();
    preemptions += stats.preemptions;
    hits += stats.prefix_hits;
    done += t.h().all.size();
  }
  // The traces do reach what they are about.
  EXPECT_GT(preemptions, 30U);
  EXPECT_GT(hits, 1000U);
  EXPECT_GT(done, 1500U);
}

TEST_P(Traces, TheSameCallsGiveTheSamePlans) {
  for (std::uint32_t seed = 200; seed < 220; ++seed) {
    std::uint64_t plans[2];
    for (auto& p : plans) {
      trace_options o;
      o.seed = seed;
      std::tie(o.by, o.steps_in_flight) = GetParam();
      o.failures = true;
      o.reloads = true;
      trace t{o};
      t.run();
      p = t.h().plans;
    }
    ASSERT_EQ(plans[0], plans[1]);
  }
}

TEST_P(Traces, BurstsChangeNoText) {
  std::uint64_t rounds = 0;
  std::uint64_t accepted = 0;
  std::uint64_t preemptions = 0;
  std::uint64_t audited = 0;
  std::set<int> counts;
  std::set<int> widths;
  for (std::uint32_t seed = 300; seed < 300 + seeds(); ++seed) {
    trace_options o;
    o.seed = seed;
    std::tie(o.by, o.steps_in_flight) = GetParam();
    o.failures = seed % 3 == 0;
    o.reloads = seed % 4 == 0;
    o.bursts = true;
    trace t{o};
    t.run();
    ASSERT_FALSE(HasFatalFailure()) << "seed " << seed;
    const auto stats = t.h().sched.stats();
    rounds += t.h().rounds;
    accepted += stats.accepted_tokens;
    preemptions += stats.preemptions;
    audited += t.audited();
    counts.merge(t.h().accepted_counts);
    widths.merge(t.h().widths_seen);
  }
  EXPECT_GT(rounds, 3000U);
  EXPECT_GT(accepted, 3000U);
  EXPECT_GT(preemptions, 30U);
  EXPECT_GT(audited, 1000U);
  EXPECT_EQ(widths, (std::set{2, 3, 4, 5, 6, 7, 8, 9}));
  EXPECT_GE(counts.size(), 8U);
}

INSTANTIATE_TEST_SUITE_P(
    Policies, Traces,
    testing::Combine(testing::Values(order_by::fcfs, order_by::priority,
                                     order_by::shortest_prompt, order_by::fair),
                     testing::Values(1, 2, 3)));

}  // namespace
}  // namespace vouch::engine::test
