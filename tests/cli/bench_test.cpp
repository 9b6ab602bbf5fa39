// The arithmetic of `vouch bench`; test_commands.py runs the program.
#include <gtest/gtest.h>

#include "cli/bench/plan.hpp"
#include "cli/bench/rounds.hpp"
#include "cli/bench/spread.hpp"
#include "engine/error.hpp"

namespace vouch::cli::bench {
namespace {

engine::model_config model_of(std::int32_t context) {
  engine::model_config config;
  config.max_position = context;
  return config;
}

TEST(bench_spread, medians) {
  const auto odd = spread_of({3.0, 1.0, 2.0});
  EXPECT_EQ(odd.median, 2.0);
  EXPECT_EQ(odd.least, 1.0);
  EXPECT_EQ(odd.most, 3.0);
  EXPECT_EQ(spread_of({4.0, 1.0, 2.0, 3.0}).median, 2.5);
  EXPECT_EQ(spread_of({7.0}).median, 7.0);
}

TEST(bench_spread, ratios_pair_neighbours) {
  // A machine that slows down by half slows both: the ratio stays.
  const auto ratio = ratios_of({2.0, 4.0, 2.0}, {1.0, 2.0, 1.0});
  EXPECT_EQ(ratio.least, 2.0);
  EXPECT_EQ(ratio.most, 2.0);
}

TEST(bench_spread, rates_turn_the_order_round) {
  const auto rate = inverse({2.0, 1.0, 4.0}, 8.0);
  EXPECT_EQ(rate.median, 4.0);
  EXPECT_EQ(rate.least, 2.0);
  EXPECT_EQ(rate.most, 8.0);
}

TEST(bench_rounds, go_to_and_fro_and_drop_the_first) {
  rounds all;
  std::string order;
  double a = 0.0;
  const auto first = all.add([&] {
    order += 'a';
    return a++;
  });
  const auto second = all.add([&] {
    order += 'b';
    return 10.0;
  });
  double last_share = 0.0;
  all.run(2, [&](double share) {
    EXPECT_GT(share, last_share);
    last_share = share;
  });
  EXPECT_EQ(order, "abbaab");
  EXPECT_EQ(all.values(first), (std::vector<double>{1.0, 2.0}));
  EXPECT_EQ(all.values(second), (std::vector<double>{10.0, 10.0}));
  EXPECT_DOUBLE_EQ(last_share, 1.0);
}

TEST(bench_plan, keeps_what_is_wanted_sorted_and_once) {
  options chosen;
  chosen.only = {"decode"};
  chosen.batches = {8, 1, 8};
  const auto made = make_plan(chosen, model_of(8192));
  EXPECT_EQ(made.batches, (std::vector<std::int32_t>{1, 8}));
  EXPECT_TRUE(made.widths.empty());
  EXPECT_TRUE(made.sampled.empty());
  EXPECT_TRUE(made.contexts.empty());
  EXPECT_EQ(made.prompt, 0);
  EXPECT_EQ(made.sequences(), 8);
  EXPECT_EQ(made.sequence_capacity(), 128 + 32);
  // Eight sequences of ten blocks.
  EXPECT_EQ(made.room().blocks, 80);
}

TEST(bench_plan, room_is_enough_for_everything) {
  const auto made = make_plan(options{}, model_of(8192));
  const auto room = made.room();
  EXPECT_EQ(room.blocks, 32 * 10 + 512 / 16 + 8192 / 16);
  EXPECT_EQ(room.slots, 32 + 8 + 2);
  EXPECT_EQ(room.step_rows, 512);
}

TEST(bench_plan, defaults_shrink_and_wishes_are_refused) {
  options chosen;
  const auto made = make_plan(chosen, model_of(100));
  EXPECT_EQ(made.prompt, 100);
  EXPECT_EQ(made.depth, 100 - 32);
  EXPECT_TRUE(made.contexts.empty());
  chosen.depth_given = true;
  EXPECT_THROW(make_plan(chosen, model_of(100)), engine::input_error);
  chosen.depth_given = false;
  chosen.prompt_given = true;
  EXPECT_THROW(make_plan(chosen, model_of(100)), engine::input_error);
  chosen.prompt_given = false;
  chosen.contexts_given = true;
  EXPECT_THROW(make_plan(chosen, model_of(100)), engine::input_error);
  chosen.contexts_given = false;
  EXPECT_THROW(make_plan(chosen, model_of(31)), engine::input_error);
}

}  // namespace
}  // namespace vouch::cli::bench
