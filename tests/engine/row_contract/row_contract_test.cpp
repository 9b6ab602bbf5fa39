// The row contract, through the executor: the logits and KV bytes of a token
// depend on its prefix and on nothing else.

#include <iostream>

#include <gtest/gtest.h>

#include "kernels/dispatch.hpp"
#include "tests/engine/row_contract/faults.hpp"
#include "tests/engine/row_contract/mix.hpp"
#include "tests/engine/row_contract/models.hpp"
#include "tests/support/files.hpp"

namespace vouch {
namespace {

using test::mix_options;
using test::mix_report;
using test::reference_rows;

std::vector<reference_rows> references_of(
    const std::shared_ptr<engine::model>& weights, kernels::dtype kv_type,
    const std::vector<test::token_list>& sequences) {
  std::vector<reference_rows> references;
  for (const auto& tokens : sequences) {
    references.push_back(test::run_alone(weights, kv_type, tokens, 1));
  }
  return references;
}

void expect_equal(const mix_report& report) {
  EXPECT_EQ(report.error, "");
  EXPECT_GT(report.rows, 0);
  EXPECT_GT(report.kv_rows, 0);
  EXPECT_EQ(report.different_rows, 0) << "first: " << report.first;
  EXPECT_EQ(report.different_kv_rows, 0) << "first: " << report.first;
}

class tiny_row_contract : public testing::TestWithParam<kernels::dtype> {
 protected:
  static std::shared_ptr<engine::model> weights() {
    static const auto loaded = test::load(test::fixture(test::tiny_checkpoint));
    return loaded;
  }
  std::vector<reference_rows> references() const {
    return references_of(
        weights(), GetParam(),
        test::contract_sequences(weights()->config().vocab_size));
  }
};

TEST_P(tiny_row_contract, APrefillInAnyChunksEqualsOneRowAtATime) {
  const auto sequences =
      test::contract_sequences(weights()->config().vocab_size);
  for (const auto& tokens : {sequences[0], sequences[6], sequences[3]}) {
    const auto rows = test::run_alone(weights(), GetParam(), tokens, 1);
    ASSERT_EQ(rows.logits.size(), tokens.size());
    for (const std::int32_t chunk : {2, 7, 16, 255, 256, 257, 300}) {
      const auto cut = test::run_alone(weights(), GetParam(), tokens, chunk);
      EXPECT_EQ(cut.logits, rows.logits) << "chunks of " << chunk;
      EXPECT_EQ(cut.kv, rows.kv) << "chunks of " << chunk;
    }
  }
}

TEST_P(tiny_row_contract, RandomMixesEqualTheSequencesAlone) {
  const auto expected = references();
  mix_report all;
  for (const int threads : {1, 2, 3, 8}) {
    for (std::uint32_t seed = 1; seed <= 5; ++seed) {
      mix_options options;
      options.threads = threads;
      options.kv_type = GetParam();
      options.seed = seed * 100 + static_cast<std::uint32_t>(threads);
      const auto report = test::run_mix(weights(), expected, options);
      expect_equal(report);
      all.rows += report.rows;
      all.kv_rows += report.kv_rows;
      all.steps += report.steps;
      all.shared_steps += report.shared_steps;
      all.cuts += report.cuts;
      all.shared_blocks += report.shared_blocks;
      all.copied_blocks += report.copied_blocks;
      all.preemptions += report.preemptions;
      all.rollbacks += report.rollbacks;
      all.full_accepts += report.full_accepts;
    }
  }
  // That it all happened, and how often.
  EXPECT_GT(all.shared_steps, 500);
  EXPECT_GT(all.cuts, 300);
  EXPECT_GT(all.shared_blocks, 50);
  EXPECT_GT(all.copied_blocks, 10);
  EXPECT_GT(all.preemptions, 30);
  EXPECT_GT(all.rollbacks, 200);
  EXPECT_GT(all.full_accepts, 20);
  std::printf(
      "%ld logits rows and %ld KV rows compared in %d steps (%d shared): "
      "%d cuts, %d shared and %d copied blocks, %d preemptions, %d rollbacks, "
      "%d full accepts\n",
      static_cast<long>(all.rows), static_cast<long>(all.kv_rows), all.steps,
      all.shared_steps, all.cuts, all.shared_blocks, all.copied_blocks,
      all.preemptions, all.rollbacks, all.full_accepts);
}

TEST_P(tiny_row_contract, WhatABlockHeldBeforeChangesNothing) {
  const auto expected = references();
  for (std::uint32_t seed = 1; seed <= 3; ++seed) {
    mix_options options;
    options.kv_type = GetParam();
    options.seed = seed;
    expect_equal(test::run_mix(
        std::make_shared<test::faulty_model>(weights(), test::fault::poison),
        expected, options));
  }
}

TEST_P(tiny_row_contract, HoldsOnEveryDispatchTarget) {
  for (const auto& target : kernels::supported_targets()) {
    ASSERT_TRUE(kernels::select_target(target));
    std::cout << "target " << kernels::active_target() << '\n';
    const auto expected = references();
    for (const int threads : {1, 3}) {
      mix_options options;
      options.threads = threads;
      options.kv_type = GetParam();
      options.seed = 77;
      SCOPED_TRACE(target);
      expect_equal(test::run_mix(weights(), expected, options));
    }
  }
  kernels::select_target("");
}

INSTANTIATE_TEST_SUITE_P(KvTypes, tiny_row_contract,
                         testing::Values(kernels::dtype::f16,
                                         kernels::dtype::f32),
                         [](const auto& info) {
                           return std::string{kernels::traits(info.param).name};
                         });

TEST(real_row_contract, RandomMixesEqualTheSequencesAlone) {
  const auto path = test::cached(test::real_checkpoint);
  VOUCH_REQUIRE_CACHED(path);
  const auto weights = test::load(path);
  auto sequences = test::contract_sequences(weights->config().vocab_size);
  // One across the attention chunk's border, three short ones with a common
  // prefix, one alone.
  sequences[2].resize(48);
  sequences = {sequences[6],
               sequences[2],
               sequences[3],
               {sequences[2].begin(), sequences[2].begin() + 40}};
  const auto expected = references_of(weights, kernels::dtype::f16, sequences);
  for (const int threads : {2, 3}) {
    mix_options options;
    options.threads = threads;
    options.seed = static_cast<std::uint32_t>(threads);
    expect_equal(test::run_mix(weights, expected, options));
  }
}

}  // namespace
}  // namespace vouch
