#pragma once

#include <algorithm>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "tests/engine/schedule/fake_executor.hpp"

namespace vouch::engine::test {

/// A scheduler with the fake executor below it, checking after every call that
/// the invariants hold and, at each sequence's end, that its text is the text
/// it has alone.
class harness {
 public:
  struct seen {
    sequence_start start;
    known_text known;
    std::vector<token_id> tokens;
    std::vector<picked_token> scores;
    std::uint64_t added_step = 0;
    std::uint64_t first_step = 0;
    std::uint64_t last_step = 0;
    std::uint64_t max_gap = 0;
    bool done = false;
    sequence_update end;
  };

  harness(policy rules, executor_limits limits, int steps_in_flight)
      : limits{limits},
        rules{rules},
        in_flight{static_cast<std::size_t>(steps_in_flight)},
        sched{rules, limits, steps_in_flight, fake_bytes},
        device{limits} {}

  rejection add(sequence_start start) {
    const auto id = start.id;
    seen s;
    s.start = start;
    s.known = text_alone(start, limits);
    s.added_step = steps();
    const auto answer = sched.add(std::move(start), now);
    if (answer == rejection::none) all[id] = std::move(s);
    check();
    return answer;
  }

  bool abort(sequence_id id) {
    const bool known = sched.abort(id);
    if (known) all.at(id).done = true;
    check();
    return known;
  }

  void expire() {
    take(sched.expire(now));
    check();
  }

  void set_policy(policy p) {
    rules = p;
    sched.set_policy(p);
    check();
  }

  /// Plans and submits one step, if there is one.
  bool plan() {
    if (drafts) {
      for (const auto& wish : sched.draft_wishes()) {
        const seen& s = all.at(wish.id);
        std::vector<token_id> next(
            s.known.tokens.begin() +
                static_cast<std::ptrdiff_t>(s.tokens.size()),
            s.known.tokens.end());
        if (s.known.stop_token >= 0) next.push_back(s.known.stop_token);
        sched.offer(wish.id, drafts(wish, std::move(next)));
      }
    }
    auto planned = sched.plan(now);
    check();
    if (!planned) return false;
    log(*planned);
    device.submit(*planned, std::min<std::int64_t>(rules.limits.step_tokens,
                                                   limits.step_rows));
    last_plan = std::move(*planned);
    return true;
  }

  /// Completes the oldest step in flight; `spoil` may damage its result.
  template <class F>
  void complete(F&& spoil) {
    auto result = device.complete();
    spoil(result);
    take(sched.update(result));
    check();
  }
  void complete() {
    complete([](step_result&) {});
  }

  /// One turn of a server's loop: fill the pipe, then wait for one result.
  bool turn() {
    while (device.in_flight() < in_flight && plan()) {
      if (testing::Test::HasFatalFailure()) return false;
    }
    if (device.in_flight() == 0) return false;
    complete();
    ++now;
    return !testing::Test::HasFatalFailure();
  }

  void drain(int turns = 100000) {
    while (turns-- > 0 && turn()) {
    }
    ASSERT_FALSE(testing::Test::HasFatalFailure());
    ASSERT_TRUE(sched.idle());
    for (const auto& [id, s] : all) ASSERT_TRUE(s.done) << "sequence " << id;
    const auto stats = sched.stats();
    ASSERT_EQ(stats.free_blocks + stats.cached_blocks, stats.total_blocks);
    ASSERT_EQ(stats.running, 0);
    ASSERT_EQ(stats.waiting, 0);
    ASSERT_EQ(stats.waiting_prompt_tokens, 0);
  }

  void set_bursts(const burst_rules& bursts) {
    widths = bursts.widths;
    sched.set_burst_rules(bursts);
  }

  std::uint64_t steps() const { return sched.stats().steps; }

  executor_limits limits;
  policy rules;
  std::size_t in_flight;
  scheduler sched;
  fake_executor device;
  std::map<sequence_id, seen> all;
  /// What is offered for a wish, given the tokens that will follow.
  std::function<std::vector<token_id>(const draft_wish&, std::vector<token_id>)>
      drafts;
  std::int64_t now = 0;
  scheduler::planned_step last_plan;
  /// Legal widths, and what the rounds had.
  width_set widths;
  std::uint64_t rounds = 0;
  std::set<int> accepted_counts;
  std::set<int> widths_seen;
  /// Everything that was planned, as a hash.
  std::uint64_t plans = 0;

 private:
  void check() {
    const auto wrong = sched.check_invariants();
    ASSERT_EQ(wrong, "");
  }

  void log(const scheduler::planned_step& p) {
    const auto note = [&](auto value) {
      plans = mix(plans, static_cast<std::uint64_t>(value));
    };
    for (const auto s : p.released) note(s);
    for (const auto& s : p.opened) note(s.slot);
    for (const auto& h : p.histories) note(h.tokens.size());
    for (const auto& c : p.work.copies) note(c.from * 1000 + c.to);
    for (const auto& i : p.work.items) {
      note(i.slot);
      note(i.kind);
      note(i.position);
      for (const auto t : i.tokens) note(t);
      for (const auto b : i.blocks) note(b);
      note(i.pick_begin);
    }
  }

  void take(const std::vector<sequence_update>& updates) {
    std::set<sequence_id> once;
    for (const auto& u : updates) {
      ASSERT_TRUE(once.insert(u.id).second);
      ASSERT_EQ(all.count(u.id), 1U);
      seen& s = all.at(u.id);
      ASSERT_FALSE(s.done) << "an update after the end";
      for (const auto& r : u.rounds) check_round(s, r, u);
      for (const auto& t : u.tokens) s.tokens.push_back(t.token);
      if (!u.tokens.empty()) {
        if (s.first_step == 0) s.first_step = steps();
        if (s.last_step != 0) {
          s.max_gap = std::max(s.max_gap, steps() - s.last_step);
        }
        s.last_step = steps();
      }
      if (!u.prompt_logprobs.empty()) {
        ASSERT_TRUE(s.scores.empty()) << "prompt log-probabilities came twice";
        s.scores = u.prompt_logprobs;
      }
      ASSERT_LE(s.tokens.size(), s.known.tokens.size());
      ASSERT_TRUE(
          std::equal(s.tokens.begin(), s.tokens.end(), s.known.tokens.begin()))
          << "sequence " << u.id << " has another text than alone";
      if (u.finished) finish(s, u);
    }
  }

  void check_round(const seen& s, const round_report& r,
                   const sequence_update& u) {
    const auto prompt = s.start.prompt.size();
    ASSERT_EQ(r.position,
              static_cast<std::int64_t>(prompt + s.tokens.size()) - 1);
    ASSERT_EQ(r.anchor,
              s.tokens.empty() ? s.start.prompt.back() : s.tokens.back());
    ASSERT_EQ(r.picks.size(), r.drafts.size() + 1);
    ASSERT_EQ(r.outcome.emitted.size(),
              u.tokens.size() + (u.stop_token >= 0 ? 1 : 0));
    if (r.drafts.empty()) return;
    ++rounds;
    const auto width = static_cast<int>(r.picks.size());
    ASSERT_TRUE(widths.contains(width)) << width;
    accepted_counts.insert(r.outcome.accepted);
    widths_seen.insert(width);
  }

  void finish(seen& s, const sequence_update& u) {
    s.done = true;
    s.end = u;
    if (u.reason == finish_reason::failed) {
      ASSERT_NE(u.error, "");
      return;
    }
    ASSERT_EQ(u.error, "");
    ASSERT_EQ(s.tokens, s.known.tokens) << "tokens were lost";
    ASSERT_EQ(u.reason, s.known.reason);
    ASSERT_EQ(u.stop_token, s.known.stop_token);
    ASSERT_EQ(u.stop_string, s.known.stop_string);
    if (!s.start.prompt_logprobs) {
      ASSERT_TRUE(s.scores.empty());
      return;
    }
    ASSERT_EQ(s.scores.size() + 1, s.start.prompt.size());
    for (std::size_t i = 0; i < s.scores.size(); ++i) {
      ASSERT_EQ(s.scores[i].token, s.start.prompt[i + 1]);
      ASSERT_EQ(s.scores[i].logprob, static_cast<float>(i));
    }
  }
};

/// `count` tokens that begin with those of any longer text of the same seed.
inline std::vector<token_id> prompt_of(int count, std::uint64_t seed) {
  std::vector<token_id> prompt;
  std::uint64_t h = mix(0, seed);
  for (int i = 0; i < count; ++i) {
    h = mix(h, static_cast<std::uint64_t>(i));
    prompt.push_back(static_cast<token_id>(h % vocabulary));
  }
  return prompt;
}

inline sequence_start make_start(sequence_id id, std::vector<token_id> prompt,
                                 std::int64_t max_tokens) {
  sequence_start s;
  s.id = id;
  s.prompt = std::move(prompt);
  s.max_tokens = max_tokens;
  return s;
}

inline executor_limits pool_of(std::int32_t blocks,
                               std::int32_t context = 4096) {
  executor_limits l;
  l.blocks = blocks;
  l.slots = 64;
  l.step_rows = 512;
  l.context = context;
  return l;
}

/// The next id, with a prompt that no other id has.
inline sequence_start fresh(sequence_id& id, int prompt,
                            std::int64_t max_tokens) {
  ++id;
  return make_start(id, prompt_of(prompt, id), max_tokens);
}

}  // namespace vouch::engine::test
