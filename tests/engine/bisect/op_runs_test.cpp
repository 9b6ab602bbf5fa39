#include "engine/bisect/op_runs.hpp"

#include <stdexcept>

#include <gtest/gtest.h>

namespace vouch::engine {
namespace {

std::vector<op_line> run_all(op_options options) {
  kernels::thread_pool pool{2};
  model_config small;
  small.hidden_size = 64;
  small.intermediate_size = 160;
  small.heads = 4;
  small.kv_heads = 2;
  small.head_dim = 16;
  options.model = small;
  std::vector<op_line> lines;
  for (const auto& each : op_subjects(options, pool)) {
    lines.push_back(run_op(*each, 2, 5));
  }
  return lines;
}

TEST(OpRuns, EveryOpOfThePlanInvariantHolds) {
  for (const auto& name : op_names()) {
    op_options options;
    options.op = name;
    const auto lines = run_all(options);
    EXPECT_GE(lines.size(), 2U) << name;
    for (const auto& line : lines) {
      EXPECT_FALSE(line.first) << name << " " << line.shape;
      EXPECT_GT(line.blocks, 70) << name;
      EXPECT_GT(line.rows, 700) << name;
    }
  }
}

TEST(OpRuns, ThePlanFastDiffersFromItsRowsOn) {
  op_options options;
  options.op = "matmul";
  options.plan = kernels::kernel_plan::fast;
  options.types = {kernels::dtype::q4_1, kernels::dtype::f16};
  for (const auto& line : run_all(options)) {
    if (line.shape.rfind("F16", 0) == 0) {
      EXPECT_FALSE(line.first) << line.shape;
      continue;
    }
    ASSERT_TRUE(line.first) << line.shape;
    EXPECT_EQ(line.first->rows, kernels::fast_plan_rows);
    EXPECT_GT(line.first->differing_bytes, 0);
    EXPECT_LE(line.first->differing_bytes, line.first->total_bytes);
  }
}

/// Rows that look at how many they are.
class coupled final : public op_subject {
 public:
  std::string shape() const override { return "coupled"; }
  std::int64_t in() const override { return 1; }
  std::int64_t out_bytes() const override { return 4; }
  void draw(std::uint64_t) override {}
  void run(std::int64_t, std::int64_t rows, const float*,
           std::byte* y) override {
    for (std::int64_t r = 0; r < rows; ++r) {
      for (int i = 0; i < 4; ++i) {
        y[4 * r + i] = std::byte{
            static_cast<unsigned char>(i == 2 && rows == 5 && r == 3 ? 1 : 0)};
      }
    }
  }
};

TEST(OpRuns, NameTheFirstRowThatDiffers) {
  coupled subject;
  const auto line = run_op(subject, 1, 1);
  ASSERT_TRUE(line.first);
  EXPECT_EQ(line.first->rows, 5);
  EXPECT_EQ(line.first->row, 3);
  EXPECT_EQ(line.first->offset, 0);
  EXPECT_EQ(line.first->differing_bytes, 1);
  EXPECT_EQ(line.differing_blocks, 3);
}

TEST(OpRuns, RefuseWhatTheyDoNotHave) {
  kernels::thread_pool pool{1};
  op_options options;
  options.op = "softmax";
  EXPECT_THROW((void)op_subjects(options, pool), std::invalid_argument);
  options.op = "attention";
  options.types = {kernels::dtype::q4_1};
  EXPECT_THROW((void)op_subjects(options, pool), std::invalid_argument);
}

}  // namespace
}  // namespace vouch::engine
