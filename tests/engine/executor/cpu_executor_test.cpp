#include <algorithm>
#include <future>

#include <gtest/gtest.h>

#include "engine/executor/executor.hpp"
#include "engine/executor/step_runner.hpp"
#include "engine/sampling/pick.hpp"
#include "kernels/cores.hpp"
#include "tests/engine/executor/cpu_executor_fixture.hpp"

namespace vouch::engine {
namespace {

TEST_F(cpu_executor_test, ReportsItsLimits) {
  cpu_executor_options options;
  options.threads = 3;
  start(options);
  EXPECT_EQ(device->limits().blocks, 64);
  EXPECT_EQ(device->limits().slots, 8);
  EXPECT_EQ(device->limits().step_rows, 64);
  EXPECT_EQ(device->limits().context, 512);
  EXPECT_EQ(device->description().rfind("cpu ", 0), 0U);
  EXPECT_NE(device->description().find(", 3 threads"), std::string::npos);
}

TEST_F(cpu_executor_test, RunsOnTheCpusItIsGiven) {
  auto cpus = kernels::allowed_cpus();
  std::reverse(cpus.begin(), cpus.end());
  cpus.resize(std::min<std::size_t>(cpus.size(), 2));
  cpu_executor_options options;
  options.threads = static_cast<int>(cpus.size());
  options.cpus = cpus;
  start(options);
  EXPECT_NE(device->description().find(" on CPUs "), std::string::npos)
      << device->description();
  open(1, 3);
  std::promise<std::vector<int>> own;
  device->submit(make_step(1, {prefill(1, 0, {1, 2, 3}, block_range(0, 1))}),
                 [&](step_result) { own.set_value(kernels::allowed_cpus()); });
  EXPECT_EQ(own.get_future().get(), std::vector{cpus.front()});
}

TEST(step_runner_test, GivesBackTheLogitsOfAScoredPrompt) {
  cpu_executor_options options;
  options.threads = 1;
  step_runner runner{std::make_shared<fake_model>(), options, {8, 4, 64, 64}};
  slot_start opened;
  opened.slot = 1;
  opened.prompt_tokens = 20;
  runner.slots().open(opened);
  const auto blocks = block_range(0, 2);
  auto item = prefill(1, 0, std::vector<token_id>(20, 5), blocks);
  item.logits_begin = 0;
  const auto scored = runner.run(make_step(1, {item}));
  EXPECT_EQ(scored.error, "");
  EXPECT_EQ(scored.items.at(0).prompt_logprobs.size(), 19U);
  EXPECT_EQ(runner.logits_bytes(), 0U);
  EXPECT_EQ(runner.run(make_step(2, {decode(1, 20, 5, blocks)})).error, "");
  EXPECT_EQ(runner.logits_bytes(), 50 * sizeof(float));
}

TEST_F(cpu_executor_test, SizesThePoolByBytes) {
  cpu_executor_options options;
  options.threads = 1;
  options.kv_bytes = 100000;
  const kernels::kv_layout layout{1, fake_model::dim, kernels::dtype::f16};
  const auto expected =
      static_cast<std::int32_t>(100000 / (2 * layout.block_bytes()));
  EXPECT_EQ(make_cpu_executor(weights, options)->limits().blocks, expected);
  options.kv_bytes = 10;
  EXPECT_THROW(make_cpu_executor(weights, options), std::invalid_argument);
  options.kv_bytes = 100000;
  options.context = 513;
  EXPECT_THROW(make_cpu_executor(weights, options), std::invalid_argument);
  options.context = 0;
  options.kv_type = kernels::dtype::q8_0;
  EXPECT_THROW(make_cpu_executor(weights, options), std::invalid_argument);
}

TEST_F(cpu_executor_test, RunsALookAheadDecodeWithoutWaiting) {
  start();
  for (float temperature : {0.0F, 1.0F}) {
    const auto expected = alone({1, 2, 3}, 6, temperature);
    open(0, 3, temperature);
    const auto blocks = block_range(0, 2);
    std::vector<std::future<step_result>> results;
    results.push_back(
        submit(*device, make_step(1, {prefill(0, 0, {1, 2, 3}, blocks)})));
    for (std::int32_t i = 0; i < 5; ++i) {
      results.push_back(
          submit(*device, make_step(2, {decode_last_pick(0, 3 + i, blocks)})));
    }
    for (std::size_t i = 0; i < results.size(); ++i) {
      const auto result = results[i].get();
      ASSERT_EQ(result.items.at(0).error, "");
      EXPECT_EQ(result.items.at(0).picks.at(0).token, expected[i]);
      EXPECT_GT(result.seconds, 0.0);
    }
    device->release(0);
  }
}

TEST_F(cpu_executor_test, BatchesMixedItems) {
  start();
  const auto a = alone({1, 2, 3, 4, 5}, 3);
  const auto b = alone({9, 8}, 2);
  open(2, 5);
  open(5, 2);
  const auto blocks_a = block_range(10, 1);
  const auto blocks_b = block_range(20, 1);
  auto chunk = prefill(2, 0, {1, 2, 3}, blocks_a);
  chunk.logits_begin = 3;
  chunk.pick_begin = 3;
  auto result =
      run_step(*device, make_step(1, {prefill(5, 0, {9, 8}, blocks_b), chunk}));
  ASSERT_EQ(result.error, "");
  EXPECT_EQ(result.items.at(0).picks.at(0).token, b[0]);
  EXPECT_TRUE(result.items.at(1).picks.empty());
  result = run_step(*device, make_step(2, {prefill(2, 3, {4, 5}, blocks_a),
                                           decode(5, 2, b[0], blocks_b)}));
  EXPECT_EQ(result.items.at(0).picks.at(0).token, a[0]);
  EXPECT_EQ(result.items.at(1).picks.at(0).token, b[1]);
}

TEST_F(cpu_executor_test, VerifiesAndRollsBack) {
  start();
  const auto expected = alone({4, 4, 2}, 6);
  open(0, 3);
  const auto blocks = block_range(0, 2);
  run_step(*device, make_step(1, {prefill(0, 0, {4, 4, 2}, blocks)}));
  // Anchor, one right draft, one wrong draft, then whatever.
  const token_id wrong = (expected[2] + 1) % 50;
  auto result = run_step(
      *device, make_step(2, {verify(0, 3, {expected[0], expected[1], wrong, 11},
                                    blocks)}));
  ASSERT_EQ(result.items.at(0).picks.size(), 4U);
  EXPECT_EQ(result.items[0].picks[0].token, expected[1]);
  EXPECT_EQ(result.items[0].picks[1].token, expected[2]);
  // The rejected rows are overwritten.
  result = run_step(*device, make_step(3, {decode(0, 5, expected[2], blocks)}));
  EXPECT_EQ(result.items.at(0).picks.at(0).token, expected[3]);
  result = run_step(*device, make_step(4, {decode_last_pick(0, 6, blocks)}));
  EXPECT_EQ(result.items.at(0).picks.at(0).token, expected[4]);
}

TEST_F(cpu_executor_test, CopiesBlocksAndTakesHistoriesBeforeRows) {
  start();
  std::vector<token_id> prompt;
  for (token_id t = 0; t < 20; ++t) {
    prompt.push_back(t % 7);
  }
  const auto expected = alone(prompt, 2);
  open(0, 20);
  run_step(*device, make_step(1, {prefill(0, 0, prompt, {0, 1})}));
  // Another slot takes the full block shared and the partial one copied.
  open(1, 20);
  device->set_history(1, {prompt.begin(), prompt.begin() + 19});
  auto work = make_step(2, {prefill(1, 19, {prompt[19]}, {0, 9})});
  work.copies.push_back({1, 9});
  auto result = run_step(*device, work);
  ASSERT_EQ(result.error, "");
  EXPECT_EQ(result.items.at(0).picks.at(0).token, expected[0]);
  for (std::int32_t p = 16; p < 20; ++p) {
    EXPECT_EQ(device->read_kv({0, 1}, p), device->read_kv({0, 9}, p));
  }
  EXPECT_NE(device->read_kv({0, 1}, 18), device->read_kv({0, 1}, 17));
  EXPECT_EQ(device->read_kv({0, 1}, 0).size(),
            std::size_t{2 * 2 * 2 * fake_model::dim});
  EXPECT_THROW(device->read_kv({0, 64}, 16), std::out_of_range);
  EXPECT_THROW(device->read_kv({0}, 16), std::out_of_range);
}

TEST_F(cpu_executor_test, PenaltiesSeeTheDraftsBeforeTheirRow) {
  start();
  // Positive penalties of a verify row count the drafts before it: the picks
  // equal those of one row at a time.
  slot_start opened;
  opened.prompt_tokens = 2;
  opened.sampling.temperature = 0.0F;
  opened.sampling.frequency_penalty = 2.0F;
  opened.sampling.repetition_penalty = 1.7F;
  std::vector<token_id> expected;
  opened.slot = 0;
  device->open(opened);
  auto result = run_step(*device, make_step(1, {prefill(0, 0, {3, 1}, {0})}));
  expected.push_back(result.items.at(0).picks.at(0).token);
  for (std::int32_t i = 0; i < 5; ++i) {
    result = run_step(*device,
                      make_step(2, {decode(0, 2 + i, expected.back(), {0})}));
    expected.push_back(result.items.at(0).picks.at(0).token);
  }
  opened.slot = 1;
  device->open(opened);
  run_step(*device, make_step(3, {prefill(1, 0, {3, 1}, {1})}));
  result = run_step(
      *device,
      make_step(4,
                {verify(1, 2, {expected.begin(), expected.end() - 1}, {1})}));
  for (std::size_t i = 0; i + 1 < expected.size(); ++i) {
    EXPECT_EQ(result.items.at(0).picks.at(i).token, expected[i + 1]);
  }
}

TEST_F(cpu_executor_test, ScoresThePrompt) {
  start();
  std::vector<std::vector<float>> rows;
  device->observe_logits([&](slot_id slot, std::int32_t position,
                             const float* logits, std::int64_t n) {
    EXPECT_EQ(slot, 0);
    EXPECT_EQ(position, static_cast<std::int32_t>(rows.size()));
    rows.emplace_back(logits, logits + n);
  });
  slot_start opened;
  opened.slot = 0;
  opened.prompt_tokens = 5;
  opened.sampling.logprobs = 2;
  opened.sampling.temperature = 0.0F;
  device->open(opened);
  auto first = prefill(0, 0, {1, 2, 3}, {0});
  first.logits_begin = 0;
  first.pick_begin = 3;
  first.next_token = 4;
  auto second = prefill(0, 3, {4, 5}, {0});
  second.logits_begin = 0;
  const auto a = run_step(*device, make_step(1, {first}));
  const auto b = run_step(*device, make_step(2, {second}));
  ASSERT_EQ(a.error + b.error, "");
  ASSERT_EQ(a.items.at(0).prompt_logprobs.size(), 3U);
  ASSERT_EQ(b.items.at(0).prompt_logprobs.size(), 1U);
  ASSERT_EQ(b.items.at(0).picks.size(), 1U);
  ASSERT_EQ(rows.size(), 5U);
  for (std::size_t i = 0; i < 4; ++i) {
    const auto& got =
        i < 3 ? a.items[0].prompt_logprobs[i] : b.items[0].prompt_logprobs[0];
    EXPECT_EQ(got.token, static_cast<token_id>(i) + 2);
    EXPECT_EQ(got.logprob, score(rows[i], got.token, 2).logprob);
    EXPECT_EQ(got.top.size(), 2U);
  }
  first.next_token = -1;
  first.position = 5;
  EXPECT_NE(run_step(*device, make_step(3, {first})).error, "");
}

}  // namespace
}  // namespace vouch::engine
