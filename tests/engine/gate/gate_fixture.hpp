#pragma once

#include <memory>
#include <numeric>
#include <string>

#include <gtest/gtest.h>

#include "engine/executor/executor.hpp"
#include "engine/faults/fault_plan.hpp"
#include "engine/gate/probe.hpp"
#include "engine/gate/run_unit.hpp"
#include "tests/engine/row_contract/models.hpp"

namespace vouch::engine {

/// A small model with random weights on the executor that serves, a gate's
/// options that fit it, and a loan of all its memory.
class gate_test : public testing::Test {
 protected:
  static constexpr std::int32_t context = 512;

  void start(const std::string& faults = {}) {
    weights = test::load(std::string{VOUCH_FIXTURES} + "/llama_tiny.gguf");
    cpu_executor_options options;
    options.threads = 2;
    options.blocks = 160;
    options.slots = 40;
    options.step_rows = 96;
    options.context = context;
    if (!faults.empty()) {
      planted = std::make_shared<const fault_plan>(fault_plan::parse(faults));
      options.faults = planted;
    }
    device = make_cpu_executor(weights, options);
  }

  probe_options small_probe() const {
    probe_options options;
    options.setup.limits = device->limits();
    options.setup.faults = planted;
    options.setup.rules.limits.step_tokens = 96;
    options.setup.rules.prefill.chunk_tokens = 64;
    options.setup.vocabulary =
        static_cast<token_id>(weights->config().vocab_size);
    options.widths = {2, 4, 3};
    options.walk = 64;
    options.positions = 128;
    options.split = 64;
    options.last_positions = 128;
    return options;
  }

  static loan loan_of(const gate_need& need) {
    loan lent;
    // Not from 0 on: the ids must be translated.
    lent.blocks.resize(static_cast<std::size_t>(need.blocks));
    std::iota(lent.blocks.rbegin(), lent.blocks.rend(), 7);
    lent.slots.resize(static_cast<std::size_t>(need.slots));
    std::iota(lent.slots.begin(), lent.slots.end(), 3);
    return lent;
  }

  /// Until it is done, or `units` were run.
  void run(probe& p, std::int64_t units = -1) {
    while (!p.done() && units-- != 0) {
      if (const auto need = p.need()) p.lend(loan_of(*need));
      auto unit = p.next();
      if (unit) {
        EXPECT_LE(unit->work.work.rows(), 96);
        p.take(run_unit(*device, std::move(*unit)), 1000);
      }
      if (auto back = p.give_back()) {
        EXPECT_FALSE(back->blocks.empty());
      }
    }
  }

  static std::string text_of(const probe& p) {
    std::string text;
    for (const auto& line : p.lines()) {
      text += line.covers + ": " + line.scenario + " [" + line.patterns + "] " +
              std::to_string(line.tally.rows) + " rows, " +
              std::to_string(line.tally.kv_rows) + " kv, " +
              std::to_string(line.tally.rounds) + " rounds, " +
              std::to_string(line.tally.accepted) + " accepted, " +
              std::to_string(line.tally.rejected) + " rejected, " +
              std::to_string(line.preemptions) + " preempted, " +
              std::to_string(line.cache_hits) + " hits, " +
              std::to_string(line.seconds) + " s " + line.showed_nothing +
              (line.first ? " FIRST " + line.first->where : "") + "\n";
    }
    text += "alone " + describe(p.verdicts().alone) + "\nbatch " +
            describe(p.verdicts().batch) + "\n";
    for (const auto& [width, each] : p.verdicts().widths) {
      text += std::to_string(width) + " " + describe(each) + "\n";
    }
    return text;
  }

  std::shared_ptr<const fault_plan> planted;
  std::shared_ptr<model> weights;
  std::unique_ptr<executor> device;
};

}  // namespace vouch::engine
