#include "engine/sampling/pick.hpp"

#include <cmath>
#include <map>
#include <thread>

#include <gtest/gtest.h>

namespace vouch::engine {
namespace {

constexpr float infinity = INFINITY;

sampling_params greedy() {
  sampling_params params;
  params.temperature = 0.0F;
  return params;
}

/// A pick after `history`, of which the first `prompt` tokens are the prompt's.
token_id pick_after(const std::vector<float>& row,
                    const sampling_params& params,
                    const std::vector<token_id>& history, std::int64_t prompt) {
  return pick(row, params,
              {history, prompt, static_cast<std::int64_t>(history.size()) - 1})
      .token;
}

std::string failure(const std::vector<float>& row,
                    const sampling_params& params) {
  try {
    pick_after(row, params, {0}, 1);
  } catch (const pick_error& error) {
    return error.what();
  }
  return {};
}

TEST(Pick, GreedyTakesTheLowestIdOnTies) {
  EXPECT_EQ(pick_after({1, 3, 2, 3}, greedy(), {0}, 1), 1);
  EXPECT_EQ(pick_after({-infinity, -infinity, -5}, greedy(), {0}, 1), 2);
}

TEST(Pick, RefusesRowsThatCannotBePicked) {
  for (float temperature : {0.0F, 1.0F}) {
    auto params = greedy();
    params.temperature = temperature;
    EXPECT_NE(failure({}, params).find("empty"), std::string::npos);
    EXPECT_NE(failure({1, 2, NAN, 0}, params).find("NaN (token 2)"),
              std::string::npos);
    EXPECT_NE(failure({1, infinity}, params).find("infinity (token 1)"),
              std::string::npos);
    EXPECT_NE(failure({-infinity, -infinity}, params).find("no token"),
              std::string::npos);
    params.stop_tokens = {1};
    params.ignore_eos = true;
    EXPECT_NE(failure({-infinity, 4}, params).find("no token"),
              std::string::npos);
  }
}

TEST(Pick, NothingAtOrAboveTheVocabularyLimitIsPicked) {
  const std::vector<float> row{1, 3, 2, 9, 8};
  for (float temperature : {0.0F, 1.0F}) {
    auto params = greedy();
    params.temperature = temperature;
    params.vocab_limit = 3;
    EXPECT_LT(pick_after(row, params, {0}, 1), 3);
    params.logit_bias = {{0, 0.5F}};
    EXPECT_LT(pick_after(row, params, {0}, 1), 3);
    params.vocab_limit = 9;
    params.top_k = 1;
    EXPECT_EQ(pick_after(row, params, {0}, 1), 3);
  }
}

TEST(Pick, LogitBiasIsAdded) {
  auto params = greedy();
  params.logit_bias = {{0, 2.5F}, {2, -100.0F}};
  EXPECT_EQ(pick_after({1, 3, 9}, params, {0}, 1), 0);
}

TEST(Pick, PresenceAndFrequencyCountGeneratedTokensOnly) {
  auto params = greedy();
  params.presence_penalty = 1.0F;
  // Token 0 stands in the prompt: no penalty. Generated: one.
  EXPECT_EQ(pick_after({2.0F, 1.5F}, params, {0, 0}, 2), 0);
  EXPECT_EQ(pick_after({2.0F, 1.5F}, params, {0, 0}, 1), 1);
  params.presence_penalty = 0.0F;
  params.frequency_penalty = 0.3F;
  // Once costs 0.3, twice 0.6.
  EXPECT_EQ(pick_after({2.0F, 1.5F}, params, {1, 0}, 1), 0);
  EXPECT_EQ(pick_after({2.0F, 1.5F}, params, {1, 0, 0}, 1), 1);
}

TEST(Pick, RepetitionCountsThePromptAndDependsOnTheSign) {
  auto params = greedy();
  params.repetition_penalty = 2.0F;
  EXPECT_EQ(pick_after({2.0F, 1.5F}, params, {0}, 1), 1);
  EXPECT_EQ(pick_after({-1.0F, -1.5F}, params, {0}, 1), 1);
  // Once, however often it occurs: 2 / 2 = 1 stays above 0.6.
  EXPECT_EQ(pick_after({2.0F, 0.6F}, params, {0, 0, 0}, 2), 0);
}

TEST(Pick, MinTokensAndIgnoreEosForbidTheStopTokens) {
  auto params = greedy();
  params.stop_tokens = {1};
  params.min_tokens = 2;
  const std::vector<float> row{1, 5, 2};
  EXPECT_EQ(pick_after(row, params, {0}, 1), 2);
  EXPECT_EQ(pick_after(row, params, {0, 2}, 1), 2);
  EXPECT_EQ(pick_after(row, params, {0, 2, 2}, 1), 1);
  params.ignore_eos = true;
  EXPECT_EQ(pick_after(row, params, {0, 2, 2}, 1), 2);
}

TEST(Pick, IgnoreEosLeavesTheRequestsOwnStopTokens) {
  auto params = greedy();
  params.stop_tokens = {2};
  params.request_stop_tokens = {1};
  params.ignore_eos = true;
  const std::vector<float> row{1, 5, 9};
  EXPECT_EQ(pick_after(row, params, {0}, 1), 1);
  params.min_tokens = 1;
  EXPECT_EQ(pick_after(row, params, {0}, 1), 0);
  params.ignore_eos = false;
  EXPECT_EQ(pick_after(row, params, {0}, 1), 0);
  EXPECT_EQ(pick_after(row, params, {0, 0}, 1), 2);
  params.stop_tokens = {};
  EXPECT_EQ(pick_after(row, params, {0}, 1), 2);
}

TEST(Pick, FiltersCutInOrder) {
  sampling_params params;
  // Probabilities 0.5, 0.25, 0.125, 0.125.
  const std::vector<float> row{std::log(4.0F), std::log(2.0F), 0.0F, 0.0F};
  const auto seen = [&](const sampling_params& p) {
    std::map<token_id, int> counts;
    for (std::uint64_t seed = 0; seed < 400; ++seed) {
      auto seeded = p;
      seeded.seed = seed;
      ++counts[pick_after(row, seeded, {0}, 1)];
    }
    return counts.size();
  };
  EXPECT_EQ(seen(params), 4U);
  params.top_k = 3;
  EXPECT_EQ(seen(params), 3U);
  params.top_p = 0.8F;  // of the three: 0.571, 0.857
  EXPECT_EQ(seen(params), 2U);
  params.min_p = 0.6F;
  EXPECT_EQ(seen(params), 1U);
  params.top_k = 0;
  params.min_p = 0.2F;
  params.top_p = 1.0F;
  EXPECT_EQ(seen(params), 4U);
  params.min_p = 0.26F;
  EXPECT_EQ(seen(params), 2U);
}

TEST(Pick, SampledFrequenciesFollowTheSoftmax) {
  const std::vector<float> row{0.0F, 1.0F, 2.0F,  -1.0F,
                               0.5F, 1.5F, -3.0F, 2.5F};
  for (float temperature : {0.5F, 1.0F, 2.0F}) {
    sampling_params params;
    params.temperature = temperature;
    std::vector<double> expected;
    double total = 0.0;
    for (float x : row) {
      expected.push_back(std::exp(x / temperature));
      total += expected.back();
    }
    constexpr int draws = 40000;
    std::vector<int> counts(row.size());
    for (int i = 0; i < draws; ++i) {
      params.seed = static_cast<std::uint64_t>(i / 200);
      const std::vector<token_id> history(static_cast<std::size_t>(i % 200) +
                                          1);
      ++counts[static_cast<std::size_t>(pick_after(row, params, history, 1))];
    }
    double chi_square = 0.0;
    for (std::size_t t = 0; t < row.size(); ++t) {
      const double mean = draws * expected[t] / total;
      chi_square += (counts[t] - mean) * (counts[t] - mean) / mean;
    }
    // 7 degrees of freedom: 0.001 of fair draws exceed 24.3.
    EXPECT_LT(chi_square, 24.3) << "temperature " << temperature;
  }
}

TEST(Pick, SeedsChoicesAndPositionsDiffer) {
  const std::vector<float> row(1000, 0.0F);
  const auto token = [&](std::uint64_t seed, std::uint32_t choice,
                         std::size_t length) {
    sampling_params params;
    params.seed = seed;
    params.choice = choice;
    return pick_after(row, params, std::vector<token_id>(length), 1);
  };
  EXPECT_EQ(token(1, 0, 5), token(1, 0, 5));
  EXPECT_NE(token(1, 0, 5), token(2, 0, 5));
  EXPECT_NE(token(1, 0, 5), token(1, 1, 5));
  EXPECT_NE(token(1, 0, 5), token(1, 0, 6));
}

TEST(Pick, DoesNotDependOnWhatElseIsPickedOrWhere) {
  std::vector<std::vector<float>> rows;
  std::vector<sampling_params> params;
  for (int i = 0; i < 24; ++i) {
    std::vector<float> row(2000);
    for (std::size_t t = 0; t < row.size(); ++t) {
      row[t] =
          static_cast<float>((t * 7919 + static_cast<std::size_t>(i)) % 613) /
          50.0F;
    }
    rows.push_back(row);
    sampling_params p;
    p.seed = static_cast<std::uint64_t>(i);
    p.top_p = i % 2 == 0 ? 0.9F : 1.0F;
    p.top_k = i % 3 == 0 ? 40 : 0;
    p.frequency_penalty = i % 4 == 0 ? 0.5F : 0.0F;
    params.push_back(p);
  }
  const std::vector<token_id> history{5, 6, 7, 5};
  std::vector<token_id> alone;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    std::thread{[&] {
      alone.push_back(pick_after(rows[i], params[i], history, 2));
    }}.join();
  }
  for (std::size_t i = rows.size(); i-- > 0;) {
    EXPECT_EQ(pick_after(rows[i], params[i], history, 2), alone[i]);
  }
}

TEST(Pick, LogprobsAreOfTheRawRow) {
  const std::vector<float> row{1, 3, 2, 3, -infinity};
  auto params = greedy();
  params.logprobs = 3;
  params.logit_bias = {{0, 50.0F}};
  params.repetition_penalty = 1.5F;
  const std::vector<token_id> history{1};
  const auto picked = pick(row, params, {history, 1, 0});
  const double normaliser =
      std::log(std::exp(1.0) + 2 * std::exp(3.0) + std::exp(2.0));
  EXPECT_EQ(picked.token, 0);
  EXPECT_NEAR(picked.logprob, 1.0 - normaliser, 1e-5);
  ASSERT_EQ(picked.top.size(), 3U);
  EXPECT_EQ(picked.top[0].token, 1);
  EXPECT_EQ(picked.top[1].token, 3);
  EXPECT_EQ(picked.top[2].token, 2);
  EXPECT_NEAR(picked.top[0].logprob, 3.0 - normaliser, 1e-5);
  EXPECT_EQ(picked.top[0].logprob, picked.top[1].logprob);

  params.logprobs = 0;
  EXPECT_TRUE(pick(row, params, {history, 1, 0}).top.empty());
  EXPECT_EQ(pick(row, params, {history, 1, 0}).logprob, picked.logprob);

  const auto scored = score(row, 0, 3);
  EXPECT_EQ(scored.token, 0);
  EXPECT_EQ(scored.logprob, picked.logprob);
  EXPECT_EQ(scored.top.size(), 3U);
  EXPECT_EQ(score(row, 4, 0).logprob, -infinity);
  EXPECT_THROW(score(row, 5, 0), pick_error);
  EXPECT_THROW(score(row, -1, 0), pick_error);
}

}  // namespace
}  // namespace vouch::engine
