// The arms of `vouch bench --sweep`: the method, and the loop that is timed.
#include <string>

#include <gtest/gtest.h>

#include "cli/bench/arms.hpp"
#include "cli/bench/bursts.hpp"
#include "cli/bench/options.hpp"
#include "engine/checkpoint/checkpoint.hpp"
#include "engine/error.hpp"
#include "engine/models/model.hpp"
#include "engine/speculation/scripted_drafter.hpp"
#include "tests/support/files.hpp"

namespace vouch::cli::bench {
namespace {

/// Arms that give these rates, one after the other, and then 1.
std::function<double()> rates(std::vector<double> values) {
  return [values, next = std::size_t{0}]() mutable {
    return next < values.size() ? values[next++] : 1.0;
  };
}

TEST(bench_arms, warm_up_then_a_bracket_then_rotated_rounds_then_a_bracket) {
  arms all;
  std::string order;
  for (const char name : {'a', 'b', 'c'}) {
    all.add([&order, name] {
      order += name;
      return 1.0;
    });
  }
  double last = 0.0;
  all.run(3, [&](double share) {
    EXPECT_GT(share, last);
    last = share;
  });
  EXPECT_EQ(order,
            "abc"
            "aaa"
            "abc"
            "bca"
            "cab"
            "aaa");
  EXPECT_DOUBLE_EQ(last, 1.0);
  EXPECT_EQ(all.rates(1).size(), 3U);
}

TEST(bench_arms, differences_below_the_brackets_spread_are_unresolved) {
  arms all;
  // Warm-up 50, opening 98 100 102, rounds of 100, closing 100 101 104.
  all.add(rates({50, 98, 100, 102, 100, 100, 100, 101, 104}));
  all.add(rates({50, 105, 105}));
  all.add(rates({50, 107, 107}));
  all.run(2, [](double) {});
  EXPECT_DOUBLE_EQ(all.floor(), 6.0 / 100.5);
  EXPECT_FALSE(all.drifted());
  EXPECT_FALSE(all.resolved(0));
  EXPECT_FALSE(all.resolved(1));
  EXPECT_TRUE(all.resolved(2));
  EXPECT_DOUBLE_EQ(all.ratio(2).median, 1.07);
}

TEST(bench_arms, brackets_that_do_not_overlap_are_drift) {
  arms all;
  all.add(rates({50, 98, 100, 102, 100, 90, 91, 97}));
  all.run(1, [](double) {});
  EXPECT_TRUE(all.drifted());
}

TEST(bench_options, arms_have_defaults_of_their_own) {
  options chosen;
  chosen.set_arm_defaults();
  EXPECT_EQ(chosen.tokens, 32);
  chosen.price_list = true;
  chosen.set_arm_defaults();
  EXPECT_EQ(chosen.tokens, 128);
  EXPECT_EQ(chosen.widths, (std::vector<std::int32_t>{4}));
  EXPECT_EQ(chosen.streams, (std::vector<std::int32_t>{1, 8}));
  chosen.widths_given = true;
  chosen.widths = {1, 4};
  EXPECT_THROW(chosen.set_arm_defaults(), engine::input_error);
}

TEST(bench_options, both_plans_only_where_one_is_asked_for) {
  options chosen;
  EXPECT_FALSE(chosen.wants(part::plans));
  chosen.plan = "fast";
  EXPECT_TRUE(chosen.wants(part::plans));
  EXPECT_TRUE(chosen.wants(part::decode));
  chosen.only = {"decode"};
  EXPECT_FALSE(chosen.wants(part::plans));
}

class bench_bursts : public testing::Test {
 protected:
  void SetUp() override {
    kernels::thread_pool pool{1};
    model_ = engine::load_model(
        *engine::open_checkpoint(test::fixture("llama_tiny.gguf")), pool);
    setup_.prompts = {{1, 2, 3, 4, 5}, {9, 8, 7, 6, 5}};
    setup_.tokens = 40;
    setup_.vocabulary =
        static_cast<engine::token_id>(model_->config().vocab_size);
    engine::cpu_executor_options room;
    room.threads = 1;
    room.slots = 2;
    room.blocks = 64;
    room.step_rows = 128;
    device_ = engine::make_cpu_executor(model_, room);
    auto longer = setup_;
    longer.tokens += 16;
    texts_ = run_bursts(*device_, longer).texts;
  }

  burst_run run(int width, double right) {
    engine::scripted_options options;
    options.mode = engine::script::probable;
    options.probabilities = {right};
    options.vocabulary = setup_.vocabulary;
    std::vector<token_list> whole = setup_.prompts;
    for (std::size_t s = 0; s < whole.size(); ++s) {
      whole[s].insert(whole[s].end(), texts_[s].begin(), texts_[s].end());
    }
    options.oracle = engine::oracle_of_texts(whole);
    setup_.drafter = engine::scripted_drafter::make(options).loaded;
    setup_.width = width;
    return run_bursts(*device_, setup_);
  }

  /// What was emitted is classic's text, as far as it goes.
  void expect_classic_text(const burst_run& got) const {
    ASSERT_EQ(got.texts.size(), 2U);
    for (std::size_t s = 0; s < 2; ++s) {
      ASSERT_GE(got.texts[s].size(), 20U);
      ASSERT_LE(got.texts[s].size(), texts_[s].size());
      EXPECT_TRUE(std::equal(got.texts[s].begin(), got.texts[s].end(),
                             texts_[s].begin()));
    }
  }

  std::shared_ptr<engine::model> model_;
  std::unique_ptr<engine::executor> device_;
  burst_setup setup_;
  std::vector<token_list> texts_;
};

TEST_F(bench_bursts, classic_counts_a_token_a_stream_and_step) {
  const auto got = run_bursts(*device_, setup_);
  expect_classic_text(got);
  EXPECT_EQ(got.blocks, 0);
  EXPECT_EQ(got.steps, 40);
  EXPECT_EQ(got.tokens, 80);
  EXPECT_GT(got.seconds, got.step_seconds);
  EXPECT_GT(got.rate(), 0.0);
}

TEST_F(bench_bursts, drafts_that_are_right_fill_every_block) {
  const auto got = run(4, 1.0);
  expect_classic_text(got);
  EXPECT_EQ(got.steps, 10);
  EXPECT_EQ(got.blocks, 20);
  EXPECT_EQ(got.block_tokens, 80);
  EXPECT_EQ(got.reached, (std::vector<std::int64_t>{20, 20, 20}));
  EXPECT_EQ(got.accepted, got.reached);
}

TEST_F(bench_bursts, drafts_that_are_wrong_emit_a_token_each) {
  const auto got = run(4, 0.0);
  expect_classic_text(got);
  EXPECT_EQ(got.block_tokens, got.blocks);
  EXPECT_EQ(got.reached[1], 0);
  EXPECT_EQ(got.accepted[0], 0);
}

TEST_F(bench_bursts, half_of_the_drafts_lie_between) {
  const auto got = run(3, 0.5);
  expect_classic_text(got);
  EXPECT_GT(got.accepted[0], 0);
  EXPECT_LT(got.accepted[0], got.reached[0]);
  EXPECT_EQ(got.reached[1], got.accepted[0]);
  burst_run both = got;
  add(both, got);
  EXPECT_EQ(both.blocks, 2 * got.blocks);
  EXPECT_EQ(both.accepted[0], 2 * got.accepted[0]);
  EXPECT_DOUBLE_EQ(both.rate(), got.rate());
}

}  // namespace
}  // namespace vouch::cli::bench
