#pragma once

#include <memory>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "engine/executor/executor.hpp"
#include "tests/engine/executor/fake_model.hpp"
#include "tests/engine/executor/step_items.hpp"

namespace vouch::engine {

using namespace vouch::test;

/// The CPU's executor over a model that can be worked out by hand.
class cpu_executor_test : public testing::Test {
 protected:
  void start(cpu_executor_options options = {}) {
    if (options.blocks == 0) {
      options.blocks = 64;
    }
    options.slots = 8;
    options.step_rows = 64;
    if (options.threads == 0) {
      options.threads = 2;
    }
    device = make_cpu_executor(weights, options);
  }

  void open(slot_id slot, std::int32_t prompt, float temperature = 0.0F) {
    slot_start opened;
    opened.slot = slot;
    opened.prompt_tokens = prompt;
    opened.sampling.temperature = temperature;
    opened.sampling.seed = 7;
    device->open(opened);
  }

  /// Greedy tokens after `prompt`, alone, one step at a time.
  std::vector<token_id> alone(std::vector<token_id> prompt, int count,
                              float temperature = 0.0F) {
    open(7, static_cast<std::int32_t>(prompt.size()), temperature);
    const auto blocks = block_range(48, 8);
    std::vector<token_id> tokens;
    auto position = static_cast<std::int32_t>(prompt.size());
    auto result =
        run_step(*device, make_step(1, {prefill(7, 0, prompt, blocks)}));
    while (true) {
      EXPECT_EQ(result.error, "");
      EXPECT_EQ(result.items.at(0).error, "");
      tokens.push_back(result.items.at(0).picks.at(0).token);
      if (static_cast<int>(tokens.size()) == count) {
        break;
      }
      result = run_step(
          *device,
          make_step(2, {decode(7, position++, tokens.back(), blocks)}));
    }
    device->release(7);
    return tokens;
  }

  std::shared_ptr<fake_model> weights = std::make_shared<fake_model>();
  std::unique_ptr<executor> device;
};

}  // namespace vouch::engine
