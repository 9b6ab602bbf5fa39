// One hash a position over what read_kv returns, in order between steps.

#include <numeric>

#include <gtest/gtest.h>

#include "engine/hash64.hpp"
#include "tests/engine/executor/cpu_executor_fixture.hpp"

namespace vouch::engine {
namespace {

kv_hashes hash(executor& device, kv_range range) {
  std::promise<kv_hashes> told;
  device.hash_kv(std::move(range),
                 [&](kv_hashes hashes) { told.set_value(std::move(hashes)); });
  return told.get_future().get();
}

TEST_F(cpu_executor_test, HashesWhatReadKvReturns) {
  start();
  std::vector<token_id> prompt(40);
  std::iota(prompt.begin(), prompt.end(), 3);
  open(0, 40);
  const std::vector<block_id> blocks{5, 2, 9};
  run_step(*device, make_step(1, {prefill(0, 0, prompt, blocks)}));
  const auto result = hash(*device, {blocks, 3, 40});
  EXPECT_EQ(result.error, "");
  ASSERT_EQ(result.hashes.size(), 37U);
  for (std::int32_t p = 3; p < 40; ++p) {
    EXPECT_EQ(result.hashes[static_cast<std::size_t>(p) - 3],
              hash64(device->read_kv(blocks, p)));
  }
  // Of another sequence with the same prefix, in other blocks: the same.
  open(1, 40);
  auto other = prompt;
  other[30] = 49;
  const std::vector<block_id> elsewhere{20, 31, 30};
  run_step(*device, make_step(2, {prefill(1, 0, other, elsewhere)}));
  const auto second = hash(*device, {elsewhere, 3, 40});
  for (std::size_t i = 0; i < 37; ++i) {
    EXPECT_EQ(second.hashes[i] == result.hashes[i], i != 27) << i;
  }
  EXPECT_TRUE(hash(*device, {blocks, 7, 7}).hashes.empty());
}

TEST_F(cpu_executor_test, HashesKvInOrderBetweenSteps) {
  start();
  open(0, 2);
  run_step(*device, make_step(1, {prefill(0, 0, {1, 2}, {0})}));
  std::vector<std::uint64_t> hashes;
  std::vector<std::future<step_result>> steps;
  for (const token_id token : {5, 6, 5}) {
    steps.push_back(submit(*device, make_step(2, {decode(0, 2, token, {0})})));
    device->hash_kv({{0}, 2, 3}, [&](const kv_hashes& result) {
      hashes.push_back(result.hashes.at(0));
    });
  }
  device->observe_logits({});  // waits
  ASSERT_EQ(hashes.size(), 3U);
  EXPECT_NE(hashes[0], hashes[1]);
  EXPECT_EQ(hashes[0], hashes[2]);
}

TEST_F(cpu_executor_test, RefusesMalformedKvRanges) {
  start();
  const auto error = [&](kv_range range) {
    const auto result = hash(*device, std::move(range));
    EXPECT_TRUE(result.hashes.empty());
    return result.error;
  };
  EXPECT_EQ(error({{0}, -1, 3}), "positions -1 to 3");
  EXPECT_EQ(error({{0}, 4, 3}), "positions 4 to 3");
  EXPECT_EQ(error({{0}, 0, 17}), "1 blocks where 2 are needed");
  EXPECT_EQ(error({{64}, 0, 1}), "block 64 in a pool of 64");
  EXPECT_EQ(error({{-1}, 0, 1}), "block -1 in a pool of 64");
  EXPECT_EQ(run_step(*device, make_step(1, {})).error, "");
}

}  // namespace
}  // namespace vouch::engine
