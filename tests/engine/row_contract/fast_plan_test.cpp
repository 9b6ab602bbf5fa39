// The plan `fast` breaks the row contract from 8 rows on, and there only: what
// the gate measures has something real to find.

#include <cmath>
#include <cstring>
#include <memory>
#include <vector>

#include <gtest/gtest.h>

#include "tests/engine/executor/step_items.hpp"
#include "tests/engine/row_contract/mix.hpp"
#include "tests/engine/row_contract/models.hpp"
#include "tests/support/files.hpp"

namespace vouch {
namespace {

using kernels::kernel_plan;

std::vector<float> floats_of(const test::row_bytes& bytes) {
  std::vector<float> values(bytes.size() / sizeof(float));
  std::memcpy(values.data(), bytes.data(), bytes.size());
  return values;
}

/// Root mean square of a - b by that of b.
double distance(const std::vector<float>& a, const std::vector<float>& b) {
  double difference = 0.0;
  double size = 0.0;
  for (std::size_t i = 0; i < b.size(); ++i) {
    difference += std::pow(double{a[i]} - double{b[i]}, 2);
    size += std::pow(double{b[i]}, 2);
  }
  return std::sqrt(difference / size);
}

/// `fast` in steps of 1, 7, 8 and 16 rows beside `invariant`; no row is further
/// away than `most`.
void expect_broken_from_eight_rows_on(
    const std::shared_ptr<engine::model>& weights,
    const test::token_list& tokens, double most) {
  const auto alone = [&](std::int32_t rows, kernel_plan plan) {
    return test::run_alone(weights, kernels::dtype::f16, tokens, rows, plan);
  };
  const auto expected = alone(1, kernel_plan::invariant);
  for (const std::int32_t rows : {1, 7}) {
    const auto got = alone(rows, kernel_plan::fast);
    EXPECT_EQ(got.logits, expected.logits) << rows;
    EXPECT_EQ(got.kv, expected.kv) << rows;
  }
  for (const std::int32_t rows : {8, 16}) {
    const auto kept = alone(rows, kernel_plan::invariant);
    EXPECT_EQ(kept.logits, expected.logits) << rows;
    const auto got = alone(rows, kernel_plan::fast);
    ASSERT_EQ(got.logits.size(), expected.logits.size());
    double worst = 0.0;
    for (std::size_t i = 0; i < got.logits.size(); ++i) {
      EXPECT_NE(got.logits[i], expected.logits[i]) << rows << ": row " << i;
      worst = std::max(worst, distance(floats_of(got.logits[i]),
                                       floats_of(expected.logits[i])));
    }
    EXPECT_NE(got.kv, expected.kv) << rows;
    // Another rounding, not another model.
    EXPECT_LT(worst, most) << rows;
    std::printf("%d rows a step: logits up to %.3f away\n", rows, worst);
  }
}

TEST(fast_plan, BreaksTheContractFromEightRowsOnInATinyModel) {
  const auto weights = test::load(test::fixture(test::tiny_checkpoint));
  auto tokens = test::contract_sequences(weights->config().vocab_size)[7];
  tokens.resize(48);
  expect_broken_from_eight_rows_on(weights, tokens, 0.05);
}

TEST(fast_plan, BreaksTheContractFromEightRowsOnInARealModel) {
  const auto path = test::cached(test::real_checkpoint);
  VOUCH_REQUIRE_CACHED(path);
  const auto weights = test::load(path);
  auto tokens = test::contract_sequences(weights->config().vocab_size)[7];
  tokens.resize(32);
  expect_broken_from_eight_rows_on(weights, tokens, 0.2);
}

/// What the suite compares sees it, as the gate must.
TEST(fast_plan, IsCaughtInAMix) {
  const auto weights = test::load(test::fixture(test::tiny_checkpoint));
  std::vector<test::reference_rows> references;
  for (const auto& tokens :
       test::contract_sequences(weights->config().vocab_size)) {
    references.push_back(
        test::run_alone(weights, kernels::dtype::f16, tokens, 1));
  }
  test::mix_options options;
  EXPECT_TRUE(test::run_mix(weights, references, options).equal());
  options.plan = kernel_plan::fast;
  const auto report = test::run_mix(weights, references, options);
  EXPECT_EQ(report.error, "");
  EXPECT_GT(report.different_rows, 0);
  EXPECT_GT(report.different_kv_rows, 0);
}

/// One model, an executor of each plan: they do not disturb each other.
TEST(fast_plan, IsChosenByExecutor) {
  const auto weights = test::load(test::fixture(test::tiny_checkpoint));
  const auto picks = [&](kernel_plan plan) {
    engine::cpu_executor_options options;
    options.threads = 1;
    options.blocks = 4;
    options.plan = plan;
    const auto device = engine::make_cpu_executor(weights, options);
    EXPECT_EQ(device->description().find("plan fast") != std::string::npos,
              plan == kernel_plan::fast);
    engine::slot_start start;
    start.slot = 0;
    start.prompt_tokens = 32;
    device->open(start);
    std::vector<test::row_bytes> rows;
    device->observe_logits(
        [&](engine::slot_id, std::int32_t, const float* row, std::int64_t n) {
          rows.push_back(test::bytes_of(row, n));
        });
    auto tokens = test::contract_sequences(weights->config().vocab_size)[7];
    tokens.resize(32);
    run_step(*device,
             test::make_step(
                 1, {test::prefill(0, 0, tokens, test::block_range(0, 4))}));
    return rows;
  };
  const auto before = picks(kernel_plan::invariant);
  ASSERT_EQ(before.size(), 1U);
  EXPECT_NE(picks(kernel_plan::fast), before);
  EXPECT_EQ(picks(kernel_plan::invariant), before);
}

}  // namespace
}  // namespace vouch
