// Rows of logits as the gate sees them: a hash of their bytes each, and whether
// anything computed them.

#include <algorithm>
#include <cstring>
#include <map>

#include <gtest/gtest.h>

#include "engine/hash64.hpp"
#include "tests/engine/executor/cpu_executor_fixture.hpp"

namespace vouch::engine {
namespace {

TEST_F(cpu_executor_test, HashesTheLogitsRowsThatAreAskedFor) {
  start();
  std::map<std::pair<slot_id, std::int32_t>, std::uint64_t> seen;
  device->observe_logits([&](slot_id slot, std::int32_t position,
                             const float* logits, std::int64_t n) {
    seen[{slot, position}] =
        hash64(std::as_bytes(std::span{logits, static_cast<std::size_t>(n)}));
  });
  open(0, 3);
  open(1, 3);
  open(2, 3);
  auto scored = prefill(0, 0, {1, 2, 3}, {0});
  scored.logits_begin = 0;
  scored.hash_logits = true;
  auto unasked = prefill(1, 0, {1, 2, 3}, {1});
  auto bare = prefill(2, 0, {1, 2, 3}, {2});
  bare.logits_begin = bare.pick_begin = 3;
  bare.hash_logits = true;
  const auto result = run_step(*device, make_step(1, {unasked, scored, bare}));
  ASSERT_EQ(result.error, "");
  EXPECT_TRUE(result.items.at(0).logits_hashes.empty());
  EXPECT_TRUE(result.items.at(0).logits_states.empty());
  EXPECT_TRUE(result.items.at(2).logits_hashes.empty());
  const auto& hashes = result.items.at(1).logits_hashes;
  ASSERT_EQ(hashes.size(), 3U);
  EXPECT_EQ(result.items.at(1).logits_states,
            std::vector<logits_state>(3, logits_state::sound));
  for (std::size_t i = 0; i < 3; ++i) {
    EXPECT_EQ(hashes[i], (seen[{0, static_cast<std::int32_t>(i)}]));
  }
  EXPECT_NE(hashes[0], hashes[1]);
  // The same prefix in a decode row, alone; and another one.
  device->observe_logits({});
  auto again = decode(1, 2, 3, {1});
  again.hash_logits = true;
  auto same = run_step(*device, make_step(2, {again}));
  EXPECT_EQ(same.items.at(0).logits_hashes, std::vector{hashes[2]});
  again.tokens = {4};
  same = run_step(*device, make_step(3, {again}));
  EXPECT_NE(same.items.at(0).logits_hashes, std::vector{hashes[2]});
}

TEST_F(cpu_executor_test, HashesVerifyRowsAndMarksThoseThatCannotBe) {
  start();
  weights->nan_token = 13;
  weights->zero_token = 14;
  open(0, 2);
  run_step(*device, make_step(1, {prefill(0, 0, {1, 2}, {0})}));
  auto item = verify(0, 2, {5, 13, 14, 6}, {0});
  item.hash_logits = true;
  const auto result = run_step(*device, make_step(2, {item}));
  ASSERT_EQ(result.error + result.items.at(0).error, "");
  EXPECT_EQ(result.items.at(0).logits_hashes.size(), 4U);
  EXPECT_EQ(result.items.at(0).logits_states,
            (std::vector{logits_state::sound, logits_state::nan,
                         logits_state::zero, logits_state::sound}));
  // An item that fails tells its rows as well.
  auto broken = decode(0, 2, 13, {0});
  broken.hash_logits = true;
  const auto failed = run_step(*device, make_step(3, {broken}));
  EXPECT_NE(failed.items.at(0).error, "");
  EXPECT_EQ(failed.items.at(0).logits_hashes.size(), 1U);
  EXPECT_EQ(failed.items.at(0).logits_states, std::vector{logits_state::nan});
}

}  // namespace
}  // namespace vouch::engine
