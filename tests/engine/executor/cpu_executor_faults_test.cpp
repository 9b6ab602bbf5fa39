// What goes wrong stays where it is; what ends leaves nothing behind.

#include <atomic>
#include <set>
#include <thread>

#if defined(__SSE2__)
#include <xmmintrin.h>
#endif

#include <gtest/gtest.h>

#include "engine/executor/executor.hpp"
#include "engine/sampling/pick.hpp"
#include "engine/speculation/round.hpp"
#include "tests/engine/executor/cpu_executor_fixture.hpp"

namespace vouch::engine {
namespace {

TEST_F(cpu_executor_test, OutlivesACallbackThatThrows) {
  start();
  open(1, 3);
  std::promise<std::string> told;
  int calls = 0;
  device->submit(make_step(1, {prefill(1, 0, {1, 2, 3}, block_range(0, 1))}),
                 [&](const step_result& result) {
                   if (++calls == 1) {
                     throw std::runtime_error{"no memory"};
                   }
                   told.set_value(result.error);
                 });
  EXPECT_EQ(told.get_future().get(),
            "step 1: its result could not be delivered: no memory");
  device->submit(make_step(2, {}),
                 [](const step_result&) { throw std::runtime_error{"again"}; });
  EXPECT_EQ(run_step(*device, make_step(3, {})).error, "step 3: again");
  EXPECT_EQ(run_step(*device, make_step(4, {})).error, "");
  EXPECT_EQ(alone({1, 2, 3}, 4).size(), 4U);
}

TEST_F(cpu_executor_test, ANanEndsItsItemAlone) {
  start();
  weights->nan_token = 13;
  const auto expected = alone({1, 2}, 2);
  open(0, 2);
  open(1, 2);
  std::vector<std::future<step_result>> results;
  results.push_back(submit(
      *device,
      make_step(1, {prefill(0, 0, {5, 13}, {0}), prefill(1, 0, {1, 2}, {1})})));
  for (std::int32_t i = 2; i < 4; ++i) {
    results.push_back(
        submit(*device, make_step(2, {decode_last_pick(0, i, {0}),
                                      decode_last_pick(1, i, {1})})));
  }
  const auto first = results[0].get();
  EXPECT_EQ(first.error, "");
  EXPECT_NE(first.items.at(0).error.find("row 1 at position 1: the logits "
                                         "hold a NaN (token 3)"),
            std::string::npos)
      << first.items.at(0).error;
  EXPECT_TRUE(first.items.at(0).picks.empty());
  EXPECT_EQ(first.items.at(1).error, "");
  EXPECT_EQ(first.items.at(1).picks.at(0).token, expected[0]);
  const auto second = results[1].get();
  EXPECT_EQ(second.error, "");
  EXPECT_NE(second.items.at(0).error.find("was not made"), std::string::npos);
  EXPECT_EQ(second.items.at(1).picks.at(0).token, expected[1]);
  const auto third = results[2].get();
  EXPECT_EQ(third.error, "");
  EXPECT_NE(third.items.at(0).error, "");
  EXPECT_EQ(third.items.at(1).error, "");
}

TEST_F(cpu_executor_test, AVerifyRowsNanIsLeftToTheRound) {
  start();
  weights->nan_token = 13;
  const auto expected = alone({1, 2}, 3);
  ASSERT_NE(expected[1], 13);
  open(0, 2);
  run_step(*device, make_step(1, {prefill(0, 0, {1, 2}, {0})}));
  const auto verify = [&](std::vector<token_id> input) {
    const auto result = run_step(
        *device, make_step(2, {test::verify(0, 2, std::move(input), {0})}));
    EXPECT_EQ(result.error, "");
    return result.items.at(0);
  };
  const auto settle = [&](const std::vector<token_id>& input,
                          const step_item_result& result) {
    std::vector<token_id> picks;
    for (const auto& each : result.picks) {
      picks.push_back(each.token);
    }
    return settle_round(input, picks, {{}, 8, 8, {}});
  };
  // Behind a rejected draft, and the rows after it.
  std::vector<token_id> input{expected[0], 13, 13, 5};
  auto result = verify(input);
  EXPECT_EQ(result.error, "");
  EXPECT_EQ(result.row_error.find("row 1 at position 3: the logits hold a NaN"),
            0U)
      << result.row_error;
  ASSERT_EQ(result.picks.size(), 4U);
  EXPECT_EQ(result.picks[0].token, expected[1]);
  EXPECT_EQ(result.picks[1].token, -1);
  EXPECT_EQ(result.picks[2].token, -1);
  EXPECT_GE(result.picks[3].token, 0);
  EXPECT_EQ(settle(input, result).end, round_end::none);
  // At an accepted one.
  weights->nan_token = expected[1];
  input = {expected[0], expected[1], 3};
  result = verify(input);
  EXPECT_EQ(result.error, "");
  EXPECT_NE(result.row_error.find("NaN"), std::string::npos);
  EXPECT_EQ(settle(input, result).end, round_end::failed);
  EXPECT_EQ(settle(input, result).failed_row, 1);
  // Nothing of it stays.
  weights->nan_token = 13;
  result = verify({expected[0], expected[1]});
  EXPECT_EQ(result.row_error, "");
  EXPECT_EQ(result.picks.at(1).token, expected[2]);
}

TEST_F(cpu_executor_test, ReportsMalformedStepsAndGoesOn) {
  start();
  open(0, 2);
  open(1, 2);
  run_step(*device, make_step(1, {prefill(0, 0, {1, 2}, {0})}));
  const auto refused = [&](step work, const std::string& why) {
    const auto result = run_step(*device, std::move(work));
    EXPECT_NE(result.error.find(why), std::string::npos) << result.error;
    EXPECT_TRUE(result.items.empty());
  };
  const auto one = [](step_item item) { return make_step(9, {item}); };
  refused(one(prefill(3, 0, {1}, {1})), "slot 3 is not open");
  refused(one(prefill(-1, 0, {1}, {1})), "slot -1 is not open");
  refused(one(prefill(1, 0, {}, {1})), "no rows");
  refused(one(prefill(1, 0, {1}, {64})), "block 64");
  refused(one(prefill(1, 0, {1}, {-1})), "block -1");
  refused(one(prefill(1, 0, {1}, {})), "0 blocks where 1 are needed");
  refused(one(prefill(0, 15, {1, 2}, {0})), "1 blocks where 2 are needed");
  refused(one(prefill(0, 5, {1}, {0})), "2 tokens are known");
  refused(one(prefill(0, -1, {1}, {0})), "context of 512");
  refused(one(prefill(0, 512, {1}, block_range(0, 33))), "context of 512");
  refused(one(prefill(1, 0, {50}, {1})), "token 50");
  refused(one(prefill(1, 0, {-1}, {1})), "token -1");
  refused(one(prefill(1, 0, std::vector<token_id>(65, 1), block_range(0, 5))),
          "65 rows, the limit is 64");
  auto item = prefill(1, 0, {1, 2}, {1});
  item.pick_begin = 0;
  refused(one(item), "logits from row 1 and picks from row 0");
  item.pick_begin = 3;
  refused(one(item), "picks from row 3");
  item = prefill(1, 0, {1, 2}, {1});
  item.input_is_last_pick = true;
  refused(one(item), "the input of 2 rows");
  refused(make_step(9, {prefill(1, 0, {1}, {1}), prefill(1, 1, {1}, {1})}),
          "tokens are known");
  refused(make_step(9, {prefill(1, 0, {1}, {1}), prefill(1, 0, {1}, {2})}),
          "slot 1 has two items");
  refused(make_step(9, {prefill(1, 0, {1}, {1}), decode(0, 2, 1, {1})}),
          "block 1 is written twice");
  auto copy = make_step(9, {});
  copy.copies.push_back({0, 64});
  refused(copy, "copy of block 0 to 64");
  EXPECT_EQ(run_step(*device, make_step(10, {})).error, "");
  EXPECT_EQ(run_step(*device, one(decode(0, 2, 1, {0}))).error, "");
}

TEST_F(cpu_executor_test, AnExceptionFailsTheStepAndNotTheProcess) {
  start();
  const auto expected = alone({1, 2}, 1);
  open(0, 2);
  weights->on_forward = [](const forward_rows&, kernels::thread_pool& pool) {
    pool.parallel_for(4, [](std::int64_t i) {
      if (i == 2) {
        throw std::runtime_error{"out of luck"};
      }
    });
  };
  auto broken = submit(*device, make_step(5, {prefill(0, 0, {1, 2}, {0})}));
  auto after = submit(*device, make_step(6, {decode_last_pick(0, 2, {0})}));
  EXPECT_EQ(broken.get().error, "step 5: out of luck");
  // The next forward fails as well; its item has no input and never runs.
  EXPECT_NE(after.get().items.at(0).error.find("was not made"),
            std::string::npos);
  device->observe_logits({});  // waits, so that on_forward may be changed
  weights->on_forward = {};
  const auto result =
      run_step(*device, make_step(7, {prefill(0, 0, {1, 2}, {0})}));
  EXPECT_EQ(result.items.at(0).picks.at(0).token, expected[0]);
}

TEST_F(cpu_executor_test, DestructionDrains) {
  start();
  open(0, 1);
  std::atomic<int> done = 0;
  device->submit(make_step(1, {prefill(0, 0, {1}, {0})}),
                 [&](step_result) { ++done; });
  for (std::int32_t i = 1; i < 200; ++i) {
    device->submit(
        make_step(1, {decode_last_pick(0, i, block_range(0, 13))}),
        [&](const step_result& r) { done += r.items.at(0).error.empty(); });
  }
  device.reset();
  EXPECT_EQ(done, 200);
}

TEST_F(cpu_executor_test, AReleasedSlotStartsAfresh) {
  start();
  open(0, 2);
  run_step(*device, make_step(1, {prefill(0, 0, {1, 2}, {0})}));
  device->release(0);
  EXPECT_NE(run_step(*device, make_step(2, {decode(0, 2, 1, {0})})).error, "");
  open(0, 2);
  EXPECT_NE(run_step(*device, make_step(3, {decode(0, 2, 1, {0})})).error, "");
}

#if defined(__SSE2__)
TEST_F(cpu_executor_test, EveryComputeThreadHasTheDefaultFloatMode) {
  // A host that set flush-to-zero and denormals-are-zero: threads inherit it.
  const unsigned before = _mm_getcsr();
  _mm_setcsr(before | 0x8040U);
  cpu_executor_options options;
  options.threads = 4;
  start(options);
  _mm_setcsr(before);
  std::mutex mutex;
  std::set<std::thread::id> threads;
  std::set<unsigned> modes;
  weights->on_forward = [&](const forward_rows&, kernels::thread_pool& pool) {
    std::atomic<int> arrived = 0;
    pool.parallel_for(pool.size(), [&](std::int64_t) {
      ++arrived;
      while (arrived < pool.size()) {
        std::this_thread::yield();
      }
      std::lock_guard lock{mutex};
      threads.insert(std::this_thread::get_id());
      modes.insert(_mm_getcsr() & ~0x3FU);  // without the sticky flags
    });
  };
  open(0, 1);
  run_step(*device, make_step(1, {prefill(0, 0, {1}, {0})}));
  EXPECT_EQ(threads.size(), 4U);
  EXPECT_EQ(modes, std::set<unsigned>{0x1F80U});
}
#endif

}  // namespace
}  // namespace vouch::engine
