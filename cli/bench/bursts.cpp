#include "cli/bench/bursts.hpp"

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <span>
#include <stdexcept>
#include <string>
#include <utility>

#include "engine/executor/run_step.hpp"
#include "engine/schedule/policy.hpp"
#include "engine/schedule/scheduler.hpp"

namespace vouch::cli::bench {

namespace {

using clock_type = std::chrono::steady_clock;

double seconds_since(clock_type::time_point begin) {
  return std::chrono::duration<double>(clock_type::now() - begin).count();
}

engine::policy policy_for(const burst_setup& setup,
                          const engine::executor& device) {
  engine::policy rules;
  rules.limits.max_running = device.limits().slots;
  rules.limits.step_tokens =
      static_cast<std::int32_t>(device.limits().step_rows);
  rules.prefill.chunk_tokens = setup.chunk;
  rules.cache.prefix_cache = false;
  return rules;
}

/// One run: streams are sequences 1, 2, ... of a scheduler of their own.
class burst_loop {
 public:
  burst_loop(engine::executor& device, const burst_setup& setup)
      : device_{device},
        setup_{setup},
        scheduler_{policy_for(setup, device), device.limits(), 1, {}} {
    run_.texts.resize(setup.prompts.size());
    if (setup.width > 1) allow_bursts();
    for (const auto& prompt : setup.prompts) add_stream(prompt);
  }

  burst_run run() {
    while (!everybody_began()) step(false);
    const auto begin = clock_type::now();
    while (!somebody_ended()) step(true);
    run_.seconds = seconds_since(begin);
    return std::move(run_);
  }

 private:
  void allow_bursts() {
    engine::burst_rules rules;
    rules.widths = engine::width_set::up_to(setup_.width);
    rules.positions = device_.limits().context;
    rules.drafts.vocabulary = setup_.vocabulary;
    scheduler_.set_burst_rules(rules);
    for (std::size_t i = 0; i < setup_.prompts.size(); ++i) {
      drafters_.push_back(setup_.drafter->open());
    }
    run_.reached.resize(static_cast<std::size_t>(setup_.width) - 1);
    run_.accepted.resize(run_.reached.size());
  }

  void add_stream(const token_list& prompt) {
    engine::sequence_start start;
    start.id = ++streams_;
    start.prompt = prompt;
    start.sampling.temperature = 0.0F;
    // More than the run waits for, so that no block is cut at its end.
    start.max_tokens = positions_of(setup_) -
                       static_cast<std::int64_t>(setup_.prompts[0].size());
    start.speculate = setup_.width > 1;
    if (scheduler_.add(std::move(start), 0) != engine::rejection::none) {
      throw std::runtime_error{"a stream does not fit into the device"};
    }
  }

  bool everybody_began() const {
    return std::none_of(run_.texts.begin(), run_.texts.end(),
                        [](const auto& text) { return text.empty(); });
  }
  bool somebody_ended() const {
    return std::any_of(
        run_.texts.begin(), run_.texts.end(), [&](const auto& text) {
          return static_cast<std::int32_t>(text.size()) > setup_.tokens;
        });
  }

  void offer_drafts() {
    for (const auto& wish : scheduler_.draft_wishes()) {
      const auto proposal = drafters_[wish.id - 1]->propose(
          scheduler_.tokens_of(wish.id), std::min(wish.most, setup_.width));
      scheduler_.offer(wish.id, proposal.tokens);
    }
  }

  void step(bool counts) {
    if (setup_.width > 1) {
      const auto begin = clock_type::now();
      offer_drafts();
      if (counts) run_.drafter_seconds += seconds_since(begin);
    }
    auto planned = scheduler_.plan(0);
    if (!planned) throw std::runtime_error{"streams without a step to run"};
    for (const auto slot : planned->released) device_.release(slot);
    for (auto& start : planned->opened) device_.open(std::move(start));
    for (auto& history : planned->histories) {
      device_.set_history(history.slot, std::move(history.tokens));
    }
    const auto begin = clock_type::now();
    const auto result = engine::run_step(device_, std::move(planned->work));
    if (counts) {
      run_.step_seconds += seconds_since(begin);
      ++run_.steps;
    }
    if (!result.error.empty()) throw std::runtime_error{result.error};
    for (const auto& update : scheduler_.update(result)) take(update, counts);
  }

  void take(const engine::sequence_update& update, bool counts) {
    if (!update.error.empty()) throw std::runtime_error{update.error};
    auto& text = run_.texts[update.id - 1];
    for (const auto& token : update.tokens) text.push_back(token.token);
    if (!counts) return;
    run_.tokens += static_cast<std::int64_t>(update.tokens.size());
    for (const auto& round : update.rounds) {
      if (round.drafts.empty()) continue;
      ++run_.blocks;
      run_.block_tokens +=
          static_cast<std::int64_t>(round.outcome.emitted.size());
      const auto good = static_cast<std::size_t>(round.outcome.accepted);
      for (std::size_t i = 0; i < round.drafts.size() && i <= good; ++i) {
        ++run_.reached[i];
        if (i < good) ++run_.accepted[i];
      }
    }
  }

  engine::executor& device_;
  const burst_setup& setup_;
  engine::scheduler scheduler_;
  std::vector<std::unique_ptr<engine::sequence_drafter>> drafters_;
  engine::sequence_id streams_ = 0;
  burst_run run_;
};

}  // namespace

void add(burst_run& into, const burst_run& more) {
  into.seconds += more.seconds;
  into.tokens += more.tokens;
  into.steps += more.steps;
  into.step_seconds += more.step_seconds;
  into.drafter_seconds += more.drafter_seconds;
  into.blocks += more.blocks;
  into.block_tokens += more.block_tokens;
  into.reached.resize(std::max(into.reached.size(), more.reached.size()));
  into.accepted.resize(into.reached.size());
  for (std::size_t i = 0; i < more.reached.size(); ++i) {
    into.reached[i] += more.reached[i];
    into.accepted[i] += more.accepted[i];
  }
}

burst_run run_bursts(engine::executor& device, const burst_setup& setup) {
  return burst_loop{device, setup}.run();
}

std::int32_t positions_of(const burst_setup& setup) {
  return static_cast<std::int32_t>(setup.prompts.at(0).size()) + setup.tokens +
         2 * engine::max_round_width;
}

}  // namespace vouch::cli::bench
