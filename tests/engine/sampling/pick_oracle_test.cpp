#include <random>

#include <gtest/gtest.h>

#include "engine/sampling/candidates.hpp"
#include "engine/sampling/pick.hpp"
#include "kernels/dispatch.hpp"
#include "tests/engine/sampling/oracle.hpp"

namespace vouch::engine {
namespace {

using generator = std::mt19937;

float uniform(generator& random, float low, float high) {
  return low + (high - low) * static_cast<float>(random() % 10001) / 10000.0F;
}

/// Rows of several shapes: peaked, flat, coarse (many ties), with holes.
std::vector<float> random_row(generator& random, std::size_t n) {
  const float spread = std::array{0.01F, 1.0F, 4.0F, 12.0F}[random() % 4];
  const bool coarse = random() % 4 == 0;
  const bool holes = random() % 4 == 0;
  std::normal_distribution<float> normal{0.0F, spread};
  std::vector<float> row(n);
  for (float& x : row) {
    x = coarse ? std::round(normal(random)) : normal(random);
    if (holes && random() % 3 == 0) {
      x = -INFINITY;
    }
  }
  row[random() % n] = uniform(random, 0.0F, 3 * spread);
  return row;
}

sampling_params random_params(generator& random, std::size_t n) {
  sampling_params params;
  params.seed = random();
  params.choice = random() % 3;
  if (random() % 8 == 0) {
    params.temperature = 0.0F;
  } else if (random() % 3 != 0) {
    params.temperature = uniform(random, 0.01F, 2.0F);
  }
  if (random() % 2 == 0) {
    params.top_k = static_cast<int>(random() % (n + 2));
    if (random() % 2 == 0) {
      params.top_k = static_cast<int>(random() % 50);
    }
  }
  if (random() % 2 == 0) {
    params.top_p = uniform(random, 0.01F, 1.0F);
  }
  if (random() % 3 == 0) {
    params.min_p = uniform(random, 0.0F, 1.0F);
  }
  if (random() % 3 == 0) {
    params.presence_penalty = uniform(random, -2.0F, 2.0F);
  }
  if (random() % 3 == 0) {
    params.frequency_penalty = uniform(random, -2.0F, 2.0F);
  }
  if (random() % 3 == 0) {
    params.repetition_penalty = uniform(random, 0.5F, 2.0F);
  }
  for (std::size_t i = random() % 4; i > 0; --i) {
    params.logit_bias.emplace_back(static_cast<token_id>(random() % n),
                                   uniform(random, -100.0F, 20.0F));
  }
  if (random() % 3 == 0) {
    params.stop_tokens = {static_cast<token_id>(random() % (n / 2)),
                          static_cast<token_id>(n / 2 + random() % (n / 2))};
    if (random() % 2 == 0) {
      params.request_stop_tokens = {static_cast<token_id>(random() % n)};
    }
    params.ignore_eos = random() % 4 == 0;
    params.min_tokens = static_cast<int>(random() % 40);
  }
  return params;
}

void compare(std::size_t n, int cases, std::uint32_t seed) {
  generator random{seed};
  for (int i = 0; i < cases; ++i) {
    const auto row = random_row(random, n);
    const auto params = random_params(random, n);
    std::vector<token_id> history(1 + random() % 60);
    for (auto& token : history) {
      token = static_cast<token_id>(random() % n);
    }
    pick_context context;
    context.history = history;
    context.prompt_tokens =
        1 + static_cast<std::int64_t>(random() % history.size());
    context.position = static_cast<std::int64_t>(history.size()) - 1;
    ASSERT_EQ(pick(row, params, context).token,
              test::naive_pick(row, params, context))
        << "case " << i << " of seed " << seed << ", n " << n;
  }
}

TEST(PickOracle, SmallRows) { compare(11, 4000, 1); }
TEST(PickOracle, MediumRows) { compare(1000, 2000, 2); }
TEST(PickOracle, VocabularySizedRows) { compare(49152, 80, 3); }

TEST(PickOracle, EveryDispatchTarget) {
  for (const auto& target : kernels::supported_targets()) {
    SCOPED_TRACE(target);
    ASSERT_TRUE(kernels::select_target(target));
    compare(1000, 500, 4);
    compare(49152, 20, 5);
  }
  kernels::select_target("");
}

TEST(Candidates, TopEqualsAFullSort) {
  generator random{4};
  for (int i = 0; i < 300; ++i) {
    const std::size_t n = 1 + random() % 5000;
    const auto row = random_row(random, n);
    std::vector<candidate> all;
    for (std::size_t t = 0; t < n; ++t) {
      if (!std::isinf(row[t])) {
        all.push_back({row[t], static_cast<token_id>(t), 0.0F});
      }
    }
    std::sort(all.begin(), all.end(), before);
    const std::size_t count = random() % 70;
    std::vector<candidate> top;
    take_top(row, count, top);
    ASSERT_EQ(top.size(), std::min(count, all.size()));
    for (std::size_t k = 0; k < top.size(); ++k) {
      ASSERT_EQ(top[k].token, all[k].token);
    }
  }
}

}  // namespace
}  // namespace vouch::engine
