#include "engine/executor/measure_costs.hpp"

#include <algorithm>
#include <chrono>
#include <stdexcept>
#include <thread>

#include <gtest/gtest.h>

#include "tests/engine/executor/fake_model.hpp"
#include "tests/engine/executor/step_items.hpp"

namespace vouch::engine {
namespace {

using namespace vouch::test;

std::unique_ptr<executor> make_device(std::shared_ptr<fake_model> weights,
                                      std::int64_t step_rows = 64,
                                      std::int32_t blocks = 16) {
  cpu_executor_options options;
  options.threads = 2;
  options.blocks = blocks;
  options.slots = 4;
  options.step_rows = step_rows;
  return make_cpu_executor(std::move(weights), options);
}

/// A fake model that sleeps: 1 ms, 0.1 ms a row, 0.2 ms a row with logits.
std::shared_ptr<fake_model> make_slow_model() {
  auto weights = std::make_shared<fake_model>();
  weights->on_forward = [](const forward_rows& rows, kernels::thread_pool&) {
    std::this_thread::sleep_for(std::chrono::microseconds(
        1000 + 100 * rows.tokens.size() + 200 * rows.logits_rows.size()));
  };
  return weights;
}

TEST(measure_step_costs, finds_body_and_head) {
  const auto device = make_device(make_slow_model());
  cost_budget generous;
  generous.seconds = 60.0;
  const auto costs = measure_step_costs(*device, generous);
  // A sleep lasts at least as long as it should: the least is certain.
  EXPECT_GE(costs.seconds(1, 0), 0.0011);
  EXPECT_GE(costs.seconds(1, 1), 0.0013);
  EXPECT_GE(costs.seconds(8, 8), 0.0034);
  EXPECT_GE(costs.seconds(64, 64), 0.0202);
  for (const std::int64_t rows : {1, 2, 3, 4, 5, 6, 7, 8, 12, 16, 24, 32, 64}) {
    const auto counts = costs.row_counts();
    EXPECT_NE(std::find(counts.begin(), counts.end(), rows), counts.end())
        << rows;
  }
}

TEST(measure_step_costs, ends_when_its_time_is_over) {
  int steps = 0;
  auto weights = std::make_shared<fake_model>();
  weights->on_forward = [&](const forward_rows&, kernels::thread_pool&) {
    ++steps;
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  };
  const auto device = make_device(weights);
  cost_budget none;
  none.seconds = 0.0;
  none.steps = 0;
  const auto costs = measure_step_costs(*device, none);
  // One to wake up, three of one row.
  EXPECT_EQ(steps, 4);
  EXPECT_GE(costs.seconds(1, 1), 0.005);
  EXPECT_GE(costs.seconds(4, 4), costs.seconds(1, 1));
}

TEST(measure_step_costs, fits_into_a_small_device) {
  std::size_t most = 0;
  auto weights = std::make_shared<fake_model>();
  weights->on_forward = [&](const forward_rows& rows, kernels::thread_pool&) {
    most = std::max(most, rows.tokens.size());
  };
  auto device = make_device(weights, 5);
  EXPECT_FALSE(measure_step_costs(*device).empty());
  EXPECT_EQ(most, 5U);
  most = 0;
  device = make_device(weights, 64, 1);
  EXPECT_FALSE(measure_step_costs(*device).empty());
  EXPECT_EQ(most, 16U);
}

TEST(measure_step_costs, a_failing_step_is_an_error_and_frees_the_slot) {
  auto weights = std::make_shared<fake_model>();
  weights->on_forward = [](const forward_rows&, kernels::thread_pool&) {
    throw std::runtime_error{"no such luck"};
  };
  const auto device = make_device(weights);
  try {
    measure_step_costs(*device);
    ADD_FAILURE() << "nothing was thrown";
  } catch (const std::runtime_error& error) {
    EXPECT_NE(std::string{error.what()}.find("no such luck"),
              std::string::npos);
  }
  // Released: a step that names the slot is refused.
  const auto result = run_step(*device, make_step(1, {decode(0, 0, 1, {0})}));
  EXPECT_NE(result.error.find("slot 0 is not open"), std::string::npos);
}

/// A prompt of 40 tokens in slot 0 and the first blocks, then 20 decode steps:
/// the picks, and the K and V of every position.
std::pair<std::vector<token_id>, std::vector<std::vector<std::byte>>> serve(
    executor& device) {
  slot_start start;
  start.slot = 0;
  start.prompt_tokens = 40;
  start.sampling.temperature = 0.7F;
  start.sampling.repetition_penalty = 1.3F;  // reads the history
  start.sampling.seed = 3;
  device.open(start);
  const auto blocks = block_range(0, 4);
  std::vector<token_id> prompt;
  for (int i = 0; i < 40; ++i) prompt.push_back(i * 7 % 50);
  std::vector<token_id> picks;
  auto result = run_step(device, make_step(1, {prefill(0, 0, prompt, blocks)}));
  for (int i = 0; i < 20; ++i) {
    EXPECT_EQ(result.error, "");
    picks.push_back(result.items.at(0).picks.at(0).token);
    result =
        run_step(device, make_step(2 + static_cast<step_id>(i),
                                   {decode(0, 40 + i, picks.back(), blocks)}));
  }
  std::vector<std::vector<std::byte>> kv;
  for (std::int32_t position = 0; position < 60; ++position) {
    kv.push_back(device.read_kv(blocks, position));
  }
  return {picks, kv};
}

TEST(measure_step_costs, leaves_no_trace) {
  const auto fresh = make_device(std::make_shared<fake_model>());
  const auto measured = make_device(std::make_shared<fake_model>());
  EXPECT_FALSE(measure_step_costs(*measured).empty());
  const auto result = run_step(*measured, make_step(1, {decode(0, 0, 1, {0})}));
  EXPECT_NE(result.error.find("slot 0 is not open"), std::string::npos);
  EXPECT_EQ(serve(*measured), serve(*fresh));
}

}  // namespace
}  // namespace vouch::engine
