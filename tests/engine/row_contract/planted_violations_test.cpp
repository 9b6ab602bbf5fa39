// A comparison that has never been seen to fail is no evidence: each kind of
// violation, as small as one bit of one number, must show up in it.

#include <gtest/gtest.h>

#include "tests/engine/row_contract/faults.hpp"
#include "tests/engine/row_contract/mix.hpp"
#include "tests/engine/row_contract/models.hpp"
#include "tests/support/files.hpp"

namespace vouch {
namespace {

using test::fault;
using test::mix_options;
using test::mix_report;

class planted_violations : public testing::Test {
 protected:
  static std::shared_ptr<engine::model> weights() {
    static const auto loaded = test::load(test::fixture(test::tiny_checkpoint));
    return loaded;
  }

  static const std::vector<test::reference_rows>& references() {
    static const auto made = [] {
      std::vector<test::reference_rows> rows;
      for (const auto& tokens :
           test::contract_sequences(weights()->config().vocab_size)) {
        rows.push_back(
            test::run_alone(weights(), kernels::dtype::f32, tokens, 1));
      }
      return rows;
    }();
    return made;
  }

  static mix_options options_for(int threads) {
    mix_options options;
    options.threads = threads;
    options.kv_type = kernels::dtype::f32;
    options.seed = 5;
    return options;
  }

  /// The mix without a fault is equal, with it is not, and not because a step
  /// was refused.
  static mix_report expect_caught(fault kind, int threads = 2) {
    const auto options = options_for(threads);
    EXPECT_TRUE(test::run_mix(weights(), references(), options).equal());
    const auto report =
        test::run_mix(std::make_shared<test::faulty_model>(weights(), kind),
                      references(), options);
    EXPECT_EQ(report.error, "");
    EXPECT_FALSE(report.equal());
    EXPECT_GT(report.different_rows + report.different_kv_rows, 0);
    EXPECT_FALSE(report.first.empty());
    return report;
  }

  static mix_report expect_caught(const test::step_faults& faults) {
    auto options = options_for(2);
    options.faults = faults;
    const auto report = test::run_mix(weights(), references(), options);
    EXPECT_EQ(report.error, "");
    EXPECT_FALSE(report.equal());
    EXPECT_GT(report.different_rows, 0);
    return report;
  }
};

TEST_F(planted_violations, RowsThatDifferInABatch) {
  expect_caught(fault::batch);
}

TEST_F(planted_violations, AnotherKernelFromEightRowsOn) {
  expect_caught(fault::eight_rows);
}

TEST_F(planted_violations, LogitsThatDependOnTheCut) {
  expect_caught(fault::cut_logits);
}

TEST_F(planted_violations, KvThatDependsOnTheCut) {
  const auto report = expect_caught(fault::cut_kv);
  EXPECT_GT(report.different_kv_rows, 0);
}

TEST_F(planted_violations, AStaleKvRowAfterARollback) {
  const auto report = expect_caught(fault::stale_kv);
  EXPECT_GT(report.different_rows, 0);
  EXPECT_GT(report.different_kv_rows, 0);
}

TEST_F(planted_violations, ASharedBlockThatChanges) {
  expect_caught(fault::shared_block);
}

TEST_F(planted_violations, APartlySharedBlockThatWasNotCopied) {
  test::step_faults faults;
  faults.forget_copies = true;
  const auto report = expect_caught(faults);
  EXPECT_GT(report.copied_blocks, 0);
}

TEST_F(planted_violations, AResumedSequenceWithAStaleBlock) {
  test::step_faults faults;
  faults.stale_block_after_resume = true;
  const auto report = expect_caught(faults);
  EXPECT_GT(report.preemptions, 0);
}

TEST_F(planted_violations, RowsThatDependOnTheirIndex) {
  expect_caught(fault::row_index);
}

TEST_F(planted_violations, RowsThatDependOnTheThreads) {
  expect_caught(fault::threads, 3);
}

}  // namespace
}  // namespace vouch
