// What a fault does to a row, and that the first row that differs in a run is
// the one it was planted in.

#include "engine/faults/fault_effects.hpp"

#include <bit>
#include <cmath>
#include <cstring>
#include <limits>

#include <gtest/gtest.h>

#include "kernels/quantize_row.hpp"
#include "tests/engine/faults/faulted_run.hpp"

namespace vouch::engine {
namespace {

using kernels::activation_block;
using test::decode;
using test::faulted_run;
using test::prefill;
using test::some_tokens;
using test::verify;

template <class T>
std::span<std::byte> bytes_of(std::vector<T>& values) {
  return std::as_writable_bytes(std::span{values});
}

TEST(FaultEffects, UlpsOfFloats) {
  constexpr float infinity = std::numeric_limits<float>::infinity();
  const std::vector<float> values{1.0F,     -1.0F, 0.0F, -0.0F,
                                  infinity, 1e30F, NAN,  1e-45F};
  auto up = values;
  add_ulps(bytes_of(up), row_format::f32, 1, {});
  for (std::size_t i = 0; i < 4; ++i) {
    EXPECT_EQ(up[i], std::nextafter(values[i], infinity)) << i;
  }
  EXPECT_EQ(up[4], infinity);
  EXPECT_EQ(up[5], std::nextafter(1e30F, infinity));
  EXPECT_TRUE(std::isnan(up[6]));
  auto down = values;
  add_ulps(bytes_of(down), row_format::f32, -2, {});
  EXPECT_EQ(down[7], -1e-45F);  // through 0
  EXPECT_EQ(down[0], std::nextafter(std::nextafter(1.0F, 0.0F), 0.0F));
  auto one = values;
  add_ulps(bytes_of(one), row_format::f32, 1, 5);
  for (std::size_t i = 0; i < values.size(); ++i) {
    EXPECT_EQ(std::bit_cast<std::uint32_t>(one[i]) !=
                  std::bit_cast<std::uint32_t>(values[i]),
              i == 5);
  }
  one = values;
  add_ulps(bytes_of(one), row_format::f32, 1, 8);
  EXPECT_EQ(std::memcmp(one.data(), values.data(), 8 * sizeof(float)), 0);
}

TEST(FaultEffects, UlpsOfHalves) {
  std::vector<std::uint16_t> values{0x3C00, 0xBC00, 0x0000, 0x7BFF, 0x7E01};
  add_ulps(bytes_of(values), row_format::f16, 1, {});
  EXPECT_EQ(values, (std::vector<std::uint16_t>{0x3C01, 0xBBFF, 0x0001, 0x7C00,
                                                0x7E01}));
  add_ulps(bytes_of(values), row_format::f16, -2, 2);
  EXPECT_EQ(values, (std::vector<std::uint16_t>{0x3C01, 0xBBFF, 0x8001, 0x7C00,
                                                0x7E01}));
}

TEST(FaultEffects, UlpsOfBlocksMoveTheScale) {
  std::vector<float> floats(64);
  for (std::size_t i = 0; i < floats.size(); ++i) {
    floats[i] = static_cast<float>(i) - 20.0F;
  }
  std::vector<activation_block> blocks{
      kernels::reference::quantize_block(floats.data()),
      kernels::reference::quantize_block(floats.data() + 32)};
  const auto before = blocks;
  add_ulps(bytes_of(blocks), row_format::blocks, 1, 33);
  EXPECT_EQ(std::memcmp(&blocks[0], &before[0], sizeof blocks[0]), 0);
  EXPECT_EQ(blocks[1].scale, std::nextafter(before[1].scale, 1e9F));
  EXPECT_EQ(blocks[1].scaled_sum,
            blocks[1].scale *
                static_cast<float>(before[1].sums[0] + before[1].sums[1]));
  EXPECT_EQ(std::memcmp(blocks[1].q, before[1].q, sizeof before[1].q), 0);
  fill_nan(bytes_of(blocks), row_format::blocks);
  EXPECT_TRUE(std::isnan(blocks[0].scale) && std::isnan(blocks[1].scaled_sum));
}

/// Prefill, decode and verify of two sequences.
void play(faulted_run& run) {
  const std::vector<block_id> a{1, 2};
  run.open(0, 12);
  run.open(1, 3);
  run.run({prefill(0, 0, some_tokens(0, 12), a)});
  run.run({decode(0, 12, 3, a), prefill(1, 0, some_tokens(60, 63), {5})});
  run.run({verify(0, 13, some_tokens(13, 17), a), decode(1, 3, 9, {5})});
}

/// Everything that a run showed until something differs.
std::size_t first_difference(const faulted_run& a, const faulted_run& b) {
  const auto size = std::min(a.seen.size(), b.seen.size());
  for (std::size_t i = 0; i < size; ++i) {
    if (!(a.seen[i] == b.seen[i])) return i;
  }
  return size;
}

TEST(FaultEffects, TheFirstDifferenceIsWhereTheFaultWasPlanted) {
  for (const auto type : {kernels::dtype::f16, kernels::dtype::f32}) {
    faulted_run clean{"", type};
    play(clean);
    for (std::size_t i = 0; i < model_op_names.size(); ++i) {
      const auto op = static_cast<model_op>(i);
      if (op == model_op::taps) continue;  // no drafter, no taps
      const auto text = "op=" + std::string{name_of(op)} +
                        (in_layers(op) ? " layer=1" : "") +
                        " position=14 ulp=1";
      faulted_run run{text, type};
      play(run);
      const auto at = first_difference(clean, run);
      ASSERT_LT(at, clean.seen.size()) << text;
      const auto& row = run.seen[at];
      EXPECT_EQ(row.step, 3U) << text;
      EXPECT_EQ(row.op, op) << text << name_of(row.op);
      EXPECT_EQ(row.layer, in_layers(op) ? 1 : -1) << text;
      EXPECT_EQ(row.position, 14) << text;
      auto expected = clean.seen[at].bytes;
      add_ulps(expected, row.format, 1, {});
      EXPECT_EQ(row.bytes, expected) << text;
    }
  }
}

TEST(FaultEffects, QuantizedFormsAreSeenAsBlocks) {
  faulted_run run;
  play(run);
  for (const auto op :
       {model_op::norm, model_op::network_norm, model_op::activation}) {
    EXPECT_EQ(run.rows(1, op, 0).at(0).format, row_format::blocks);
  }
  EXPECT_EQ(run.rows(1, model_op::final_norm).at(0).format, row_format::blocks);
  EXPECT_EQ(run.rows(1, model_op::kv_write, 0).at(0).format, row_format::f16);
  EXPECT_EQ(run.rows(1, model_op::gate, 0).at(0).format, row_format::f32);
}

TEST(FaultEffects, AStaleRowIsTheLastStepsOfTheSameIndex) {
  for (const auto& [name, layer] :
       std::vector<std::pair<std::string, std::int32_t>>{
           {"embed", -1}, {"norm", 0}, {"attention", 1}, {"logits", -1}}) {
    const auto op = *model_op_of(name);
    faulted_run clean;
    play(clean);
    const bool head = op == model_op::logits;
    faulted_run run{"op=" + name + (layer >= 0 ? " layer=" : "") +
                    (layer >= 0 ? std::to_string(layer) : "") +
                    " stale batch_row>=" + (head ? "3" : "1") +
                    " after_step=2"};
    play(run);
    const auto before = run.rows(2, op, layer);
    const auto right = clean.rows(3, op, layer);
    const auto stale = run.rows(3, op, layer);
    ASSERT_EQ(stale.size(), 5U);
    // The step before had 4 rows, and 2 rows of logits.
    const std::size_t left = head ? 2 : 4;
    EXPECT_EQ(before.size(), left);
    for (std::size_t i = 0; i < stale.size(); ++i) {
      const bool hit = head ? false : i >= 1 && i < left;
      EXPECT_EQ(stale[i].bytes, hit ? before[i].bytes : right[i].bytes)
          << name << i;
    }
  }
}

TEST(FaultEffects, StaleLogitsOfAnOlderStep) {
  faulted_run run{"op=logits stale batch_row=0 after_step=1"};
  run.open(0, 3);
  run.run({prefill(0, 0, {1, 2, 3}, {0})});
  run.run({decode(0, 3, 9, {0})});
  run.run({decode(0, 4, 8, {0})});
  const auto first = run.rows(1, model_op::logits).at(0).bytes;
  EXPECT_EQ(run.rows(2, model_op::logits).at(0).bytes, first);
  EXPECT_EQ(run.rows(3, model_op::logits).at(0).bytes, first);
}

TEST(FaultEffects, ZeroNanAndSwap) {
  const std::vector<block_id> a{1, 2};
  const auto logits_of = [&](const char* faults) {
    faulted_run run{faults};
    run.open(0, 4);
    run.run({prefill(0, 0, some_tokens(0, 4), a)});
    return run.run({verify(0, 4, some_tokens(4, 8), a)}).items.at(0);
  };
  const auto clean = logits_of("");
  const auto zero = logits_of("op=logits zero item_row=2");
  const auto nan = logits_of("op=logits nan item_row=2");
  const auto swap = logits_of("op=logits swap item_row=1");
  const auto last = logits_of("op=logits swap item_row=3");
  const auto pairs = logits_of("op=logits swap phase=verify");
  const auto& h = clean.logits_hashes;
  EXPECT_EQ(zero.logits_states.at(2), logits_state::zero);
  EXPECT_EQ(nan.logits_states.at(2), logits_state::nan);
  EXPECT_NE(nan.row_error.find("row 2 at position 6"), std::string::npos);
  EXPECT_EQ(nan.picks.at(2).token, -1);
  for (const std::size_t i : {0U, 1U, 3U}) {
    EXPECT_EQ(zero.logits_hashes.at(i), h.at(i));
    EXPECT_EQ(nan.logits_hashes.at(i), h.at(i));
  }
  EXPECT_EQ(swap.logits_hashes, (std::vector{h[0], h[2], h[1], h[3]}));
  EXPECT_EQ(last.logits_hashes, h);  // nothing behind it
  EXPECT_EQ(pairs.logits_hashes, (std::vector{h[1], h[0], h[3], h[2]}));
  // Inside of the model they reach the logits.
  EXPECT_EQ(logits_of("op=attention layer=0 nan position=6").logits_states,
            (std::vector{logits_state::sound, logits_state::sound,
                         logits_state::nan, logits_state::nan}));
  const auto kv = logits_of("op=kv_write layer=1 swap item_row=1 phase=verify");
  EXPECT_EQ(kv.logits_hashes.at(0), h[0]);
  EXPECT_NE(kv.logits_hashes.at(1), h[1]);
}

}  // namespace
}  // namespace vouch::engine
