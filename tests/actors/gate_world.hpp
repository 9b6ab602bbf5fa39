#pragma once

#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "engine/speculation/scripted_drafter.hpp"
#include "tests/actors/world.hpp"
#include "tests/support/temporary_folder.hpp"

namespace vouch::test {

/// A drafter that knows what the fake model picks.
inline std::shared_ptr<const engine::drafter> scripted(engine::script mode) {
  engine::scripted_options options;
  options.mode = mode;
  options.vocabulary = 256;
  options.probabilities = {0.7};
  options.oracle =
      [pick = hash_picks(256)](std::span<const engine::token_id> history) {
        engine::sampling_params greedy;
        greedy.temperature = 0;
        return pick(history, greedy);
      };
  return engine::scripted_drafter::make(options).loaded;
}

/// A drafter that is right at most places, and a small gate that measures
/// before it opens widths 4, 2 and 3.
struct gate_case {
  explicit gate_case(std::filesystem::path folder)
      : verdicts{folder / "verdicts"}, evidence{folder / "evidence"} {}

  std::filesystem::path verdicts;
  std::filesystem::path evidence;
  engine::script mode = engine::script::probable;
  std::string model = "fake";
  double audit_share = 0.01;
  bool enabled = true;
  bool allow_inexact = false;
  bool unconstrained = false;
  std::vector<int> widths{4, 2, 3};
  std::shared_ptr<std::vector<std::string>> warnings =
      std::make_shared<std::vector<std::string>>();

  world::adjust_function adjust() const {
    return [one = *this](actors::components& parts) {
      auto& bursts = parts.bursts;
      parts.drafter = scripted(one.mode);
      bursts.declined.reset();
      bursts.width = 4;
      bursts.fixed = true;
      bursts.drafter = "scripted";
      bursts.first_view.rules.drafts.vocabulary = 256;
      bursts.first_view.closed = engine::decline_reason::gate_not_run;
      parts.gate = [one](const engine::policy& rules,
                         const engine::executor_limits& limits) {
        return one.setup(rules, limits);
      };
    };
  }

  actors::gate_setup setup(const engine::policy& rules,
                           const engine::executor_limits& limits) const {
    actors::gate_setup made;
    made.scope.model = model;
    made.scope.program = "test";
    made.scope.step_rows = rules.limits.step_tokens;
    made.scope.chunk = rules.prefill.chunk_tokens;
    made.verdicts = verdicts;
    made.evidence = evidence;
    made.warn = [told = warnings](const std::string& what) {
      told->push_back(what);
    };
    made.options.enabled = enabled;
    made.options.allow_inexact = allow_inexact;
    made.options.unconstrained = unconstrained;
    made.options.audit.share = enabled ? audit_share : 0.0;
    auto& probe = made.options.probe;
    probe.setup.rules = rules;
    probe.setup.limits = limits;
    probe.setup.vocabulary = 256;
    probe.widths = widths;
    probe.walk = 32;
    probe.positions = 64;
    probe.split = 32;
    probe.last_positions = 512;
    return made;
  }
};

inline fake_executor_options small_device(std::int64_t blocks = 256) {
  fake_executor_options options;
  options.limits = {static_cast<std::int32_t>(blocks), 32, 128, 512};
  options.closes_closed_slots = true;
  return options;
}

/// Steps of the gate come in slots that were lent: the last ones.
inline bool is_gates(const engine::step& work) {
  return work.items.front().slot >= 16;
}

/// Takes a thousandth of a second a row.
inline void take_time(const engine::step& work, engine::step_result& result) {
  result.seconds = 0.001 * static_cast<double>(work.rows());
}

inline engine::gate_snapshot gate_of(const world& all) {
  const auto view = all.notices->speculation().gate;
  return view ? *view : engine::gate_snapshot{};
}

inline std::set<int> open_widths(const world& all) {
  std::set<int> open;
  for (const auto& [width, each] : gate_of(all).verdicts.widths) {
    if (each.equal()) open.insert(width);
  }
  return open;
}

inline std::vector<engine::token_id> classic_text(const std::string& prompt,
                                                  std::int64_t tokens) {
  world all;
  all.submit(text_request("x", prompt, tokens));
  all.run_to_end();
  return all.see("x").choices.at(0).ids();
}

inline void expect_text(const world& all, const std::string& id,
                        const std::string& prompt, std::int64_t tokens) {
  const auto seen = all.see(id);
  ASSERT_EQ(seen.terminals, 1) << id;
  ASSERT_FALSE(seen.failed) << id << ": " << seen.error.message;
  EXPECT_EQ(seen.choices.at(0).ids(), classic_text(prompt, tokens)) << id;
}

inline engine::speculation_report report_of(const world& all,
                                            const std::string& id) {
  const auto seen = all.see(id);
  if (seen.choices.empty() || !seen.choices.at(0).speculation) {
    ADD_FAILURE() << "no report for " << id << ": " << seen.error.message;
    return {};
  }
  return *seen.choices.at(0).speculation;
}

/// Nothing is held, lent or leaked when nobody is served.
inline void expect_all_memory_back(world& all) {
  const auto& schedule = *all.scheduling().schedule;
  EXPECT_EQ(schedule.check_invariants(), "");
  EXPECT_TRUE(schedule.idle());
  const auto now = schedule.stats();
  EXPECT_EQ(now.free_blocks + now.cached_blocks, now.total_blocks);
}

}  // namespace vouch::test
