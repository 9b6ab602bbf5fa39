// Faults that lie outside of an op: after a rollback, in a row's noise and
// penalties, in blocks of odd widths; and a drafter's taps.

#include <tuple>

#include <gtest/gtest.h>

#include "engine/checkpoint/checkpoint.hpp"
#include "engine/faults/fault_injector.hpp"
#include "tests/engine/faults/faulted_run.hpp"
#include "tests/engine/models/model_runner.hpp"

namespace vouch::engine {
namespace {

using test::decode;
using test::faulted_run;
using test::prefill;
using test::some_tokens;
using test::verify;

const std::vector<block_id> blocks{1, 2};

std::vector<std::uint64_t> kv(faulted_run& run, std::int32_t positions) {
  std::vector<std::uint64_t> hashes;
  run.device->hash_kv({blocks, 0, positions},
                      [&](const kv_hashes& result) { hashes = result.hashes; });
  run.device->observe_ops({});  // waits
  return hashes;
}

/// A block whose second draft is rejected, and the block that follows.
step_result reject(faulted_run& run) {
  run.open(0, 6);
  run.run({prefill(0, 0, some_tokens(0, 6), blocks)});
  run.run({verify(0, 6, {1, 2, 3, 4}, blocks)});
  return run.run({verify(0, 8, {9, 10, 11}, blocks)});
}

TEST(FaultSites, RollbackKeepsTheRejectedDraftsRow) {
  faulted_run clean;
  EXPECT_EQ(reject(clean).faulted_rows, 0);
  const auto right = kv(clean, 11);
  // The stale row is that of the draft.
  faulted_run drafts;
  drafts.open(0, 6);
  drafts.run({prefill(0, 0, some_tokens(0, 6), blocks)});
  drafts.run({verify(0, 6, {1, 2, 3, 4}, blocks)});
  const auto stale = kv(drafts, 10);
  for (const auto* text :
       {"op=rollback", "op=kv_write stale=1 after=rollback item_row=0"}) {
    faulted_run run{text};
    EXPECT_EQ(reject(run).faulted_rows, 1);
    const auto broken = kv(run, 11);
    for (std::size_t p = 0; p < 8; ++p) {
      EXPECT_EQ(broken[p], right[p]) << p;
    }
    EXPECT_EQ(broken[8], stale[8]);
    EXPECT_NE(broken[8], right[8]);
  }
  // All rows that were written twice, of one layer.
  faulted_run run{"op=kv_write layer=1 stale=1 after=rollback"};
  EXPECT_EQ(reject(run).faulted_rows, 2);
  // Rows that replace nothing are stored: a fresh slot, and accepted drafts.
  faulted_run accepted{"op=rollback"};
  accepted.open(0, 6);
  accepted.run({prefill(0, 0, some_tokens(0, 6), blocks)});
  EXPECT_EQ(accepted.run({verify(0, 6, {1, 2}, blocks)}).faulted_rows, 0);
  EXPECT_EQ(accepted.run({verify(0, 8, {3, 4}, blocks)}).faulted_rows, 0);
  accepted.device->release(0);
  accepted.open(0, 6);
  EXPECT_EQ(
      accepted.run({prefill(0, 0, some_tokens(0, 6), blocks)}).faulted_rows, 0);
}

TEST(FaultSites, KvIsStaleOnlyWhereSomethingStands) {
  faulted_run run{"op=kv_write stale=1"};
  run.open(0, 6);
  EXPECT_EQ(run.run({prefill(0, 0, some_tokens(0, 6), blocks)}).faulted_rows,
            0);
  const auto right = kv(run, 6);
  run.device->release(0);
  run.open(0, 6);
  EXPECT_EQ(run.run({prefill(0, 0, some_tokens(9, 15), blocks)}).faulted_rows,
            6);
  EXPECT_EQ(kv(run, 6), right);
}

/// The picks of a verify block and of the same rows one by one.
std::pair<std::vector<token_id>, std::vector<token_id>> picks(
    faulted_run& run, const sampling_params& sampling) {
  const std::vector<token_id> input{7, 7, 7, 7, 7, 7, 7, 7};
  std::vector<token_id> one_by_one;
  run.open(0, 2, sampling);
  run.run({prefill(0, 0, {5, 6}, blocks)});
  for (std::size_t i = 0; i < input.size(); ++i) {
    const auto result = run.run(
        {decode(0, 2 + static_cast<std::int32_t>(i), input[i], blocks)});
    EXPECT_EQ(result.faulted_rows, 0);
    one_by_one.push_back(result.items.at(0).picks.at(0).token);
  }
  run.open(0, 2, sampling);
  run.run({prefill(0, 0, {5, 6}, blocks)});
  std::vector<token_id> block;
  const auto verified = run.run({verify(0, 2, input, blocks)});
  for (const auto& pick : verified.items.at(0).picks) {
    block.push_back(pick.token);
  }
  return {one_by_one, block};
}

TEST(FaultSites, SamplerPositionMovesAVerifyRowsNoise) {
  sampling_params sampled;
  sampled.temperature = 2.0F;
  sampled.seed = 11;
  sampling_params greedy;
  greedy.temperature = 0.0F;
  faulted_run clean;
  auto [right, block] = picks(clean, sampled);
  EXPECT_EQ(block, right);
  faulted_run run{"op=sampler_position"};
  std::tie(right, block) = picks(run, sampled);
  EXPECT_NE(block, right);
  std::tie(right, block) = picks(run, greedy);
  EXPECT_EQ(block, right);
  // One row alone; logits are as they were.
  faulted_run third{"op=sampler_position item_row=3"};
  std::tie(right, block) = picks(third, sampled);
  for (std::size_t i = 0; i < block.size(); ++i) {
    EXPECT_TRUE(i == 3 || block[i] == right[i]) << i;
  }
}

TEST(FaultSites, PenaltiesLoseTheDraftsBeforeTheirRow) {
  sampling_params penalized;
  penalized.temperature = 0.0F;
  // The wanted token is the input that repeats, until it was seen too often.
  penalized.frequency_penalty = 2.0F;
  penalized.presence_penalty = 2.0F;
  penalized.logit_bias = {{7, 9.0F}};
  faulted_run clean;
  auto [right, block] = picks(clean, penalized);
  EXPECT_EQ(block, right);
  faulted_run run{"op=penalties"};
  std::tie(right, block) = picks(run, penalized);
  EXPECT_NE(block, right);
  // A row without drafts before it has lost none.
  EXPECT_EQ(block[0], right[0]);
}

TEST(FaultSites, WidthSparesTheConfiguredMaximum) {
  const auto hashes = [](faulted_run& run, std::int32_t width) {
    run.open(0, 4);
    run.run({prefill(0, 0, some_tokens(0, 4), blocks)});
    const auto result =
        run.run({verify(0, 4, some_tokens(4, 4 + width), blocks)});
    run.device->release(0);
    return std::pair{result.items.at(0).logits_hashes, result.faulted_rows};
  };
  faulted_run clean;
  faulted_run run{"op=width most=4 ulp=1"};
  for (const std::int32_t width : {1, 2, 3, 4, 5}) {
    const auto [right, none] = hashes(clean, width);
    const auto [made, faulted] = hashes(run, width);
    EXPECT_EQ(none, 0);
    EXPECT_EQ(faulted, width == 4 ? 0 : width);
    for (std::size_t i = 0; i < right.size(); ++i) {
      EXPECT_EQ(made[i] == right[i], width == 4) << width;
    }
  }
}

TEST(FaultSites, TapsChangeNoLogits) {
  const auto source = open_checkpoint(test::fixture(test::tiny_checkpoint));
  kernels::thread_pool pool{2};
  test::model_runner runner{*source, pool, 32};
  runner.tap({0, 1});
  const auto tokens = some_tokens(0, 9);
  const auto logits = runner.run(tokens, 9);
  const auto memory = runner.memory();
  const auto taps = runner.taps();
  fault_injector injector{std::make_shared<fault_plan>(
      fault_plan::parse("op=taps position=4 ulp=1"))};
  std::vector<fault_row> rows(9);
  for (std::size_t i = 0; i < rows.size(); ++i) {
    rows[i].position = static_cast<std::int64_t>(i);
  }
  injector.begin_step(rows);
  runner.show(&injector);
  EXPECT_EQ(runner.run(tokens, 9), logits);
  EXPECT_EQ(runner.memory(), memory);
  EXPECT_EQ(injector.faulted_rows(), 1);
  const auto width = taps.size() / 9;
  for (std::size_t i = 0; i < 9; ++i) {
    const auto at = static_cast<std::ptrdiff_t>(i * width);
    EXPECT_EQ(std::equal(taps.begin() + at,
                         taps.begin() + at + static_cast<std::ptrdiff_t>(width),
                         runner.taps().begin() + at),
              i != 4);
  }
}

}  // namespace
}  // namespace vouch::engine
