// What a model lends a drafter: hidden rows after layers, its embedding and its
// head. Handing them out must change no byte of logits, K and V.

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <stdexcept>
#include <vector>

#include <gtest/gtest.h>

#include "engine/checkpoint/checkpoint.hpp"
#include "engine/models/weights.hpp"
#include "kernels/rms_norm.hpp"
#include "tests/engine/executor/fake_model.hpp"
#include "tests/engine/models/model_runner.hpp"
#include "tests/support/files.hpp"

namespace vouch {
namespace {

using engine::token_id;
using test::model_runner;

constexpr std::size_t count = 40;

std::vector<token_id> some_tokens() {
  std::vector<token_id> tokens(count);
  for (std::size_t i = 0; i < count; ++i) {
    tokens[i] = static_cast<token_id>((i * 37 + 11) % 256);
  }
  return tokens;
}

class Taps : public ::testing::TestWithParam<const char*> {
 protected:
  std::shared_ptr<engine::checkpoint> source =
      engine::open_checkpoint(test::fixture(GetParam()));
  kernels::thread_pool pool{2};
  std::vector<token_id> tokens = some_tokens();
  std::int64_t hidden = source->config().hidden_size;
};

TEST_P(Taps, ChangeNoByte) {
  for (const auto type : {kernels::dtype::f32, kernels::dtype::f16}) {
    for (const std::size_t chunk : {count, std::size_t{7}, std::size_t{1}}) {
      model_runner without{*source, pool, 64, type};
      model_runner with{*source, pool, 64, type};
      with.tap({1, 0, 1});
      EXPECT_EQ(with.run(tokens, chunk), without.run(tokens, chunk));
      EXPECT_EQ(with.memory(), without.memory());
      EXPECT_TRUE(std::none_of(with.taps().begin(), with.taps().end(),
                               [](float x) { return std::isnan(x); }));
    }
  }
}

TEST_P(Taps, DependOnThePrefixAlone) {
  model_runner runner{*source, pool, 64};
  runner.tap({0, 1});
  runner.run(tokens, count);
  const auto whole = runner.taps();
  for (const std::size_t chunk : {std::size_t{9}, std::size_t{1}}) {
    runner.restart();
    std::vector<float> parts;
    for (std::size_t at = 0; at < count; at += chunk) {
      runner.step(std::span{tokens}.subspan(at, std::min(chunk, count - at)));
      parts.insert(parts.end(), runner.taps().begin(), runner.taps().end());
    }
    EXPECT_EQ(parts, whole) << chunk;
  }
}

TEST_P(Taps, LieInTheOrderAskedFor) {
  model_runner runner{*source, pool, 64};
  const auto tap = [&](std::vector<std::int32_t> layers) {
    runner.tap(std::move(layers));
    runner.run(tokens, count);
    return runner.taps();
  };
  const auto first = tap({0});
  const auto last = tap({1});
  EXPECT_NE(first, last);
  const auto both = tap({1, 0});
  for (std::size_t row = 0; row < count; ++row) {
    const auto at = static_cast<std::int64_t>(row) * hidden;
    EXPECT_TRUE(std::equal(last.begin() + at, last.begin() + at + hidden,
                           both.begin() + 2 * at));
    EXPECT_TRUE(std::equal(first.begin() + at, first.begin() + at + hidden,
                           both.begin() + 2 * at + hidden));
  }
}

/// The last layer's tap, normed, through the head that is lent: the logits.
TEST_P(Taps, LastLayerAndHeadGiveTheLogits) {
  model_runner runner{*source, pool, 64};
  runner.tap({1});
  const auto logits = runner.run(tokens, count);
  auto rows = runner.taps();
  const auto norm = engine::load_vector(*source, "model.norm.weight", hidden);
  kernels::rms_norm(rows.data(), norm.data(), source->config().rms_norm_eps,
                    count, hidden, rows.data());
  std::vector<float> mine(logits.size());
  runner.model().apply_head(rows.data(), count, mine.data(), pool);
  EXPECT_EQ(mine, logits);
}

TEST_P(Taps, EmbeddingRows) {
  model_runner runner{*source, pool, 64};
  std::vector<float> rows(count * static_cast<std::size_t>(hidden));
  runner.model().embed(tokens, rows.data(), pool);
  const engine::embedding_table table{*source, "model.embed_tokens.weight",
                                      source->config().vocab_size, hidden};
  std::vector<float> row(static_cast<std::size_t>(hidden));
  for (std::size_t i = 0; i < count; ++i) {
    table.read(tokens[i], row.data());
    EXPECT_TRUE(
        std::equal(row.begin(), row.end(),
                   rows.begin() + static_cast<std::int64_t>(i) * hidden));
  }
}

INSTANTIATE_TEST_SUITE_P(Models, Taps,
                         ::testing::Values("llama_golden/default",
                                           "llama_golden/q4_1.gguf",
                                           "mistral_golden"),
                         [](const auto& info) {
                           return std::string{"m"} + std::to_string(info.index);
                         });

TEST(ModelWithoutTaps, SaysSo) {
  kernels::thread_pool pool{1};
  test::fake_model model;
  EXPECT_FALSE(model.serves_drafters());
  float value = 0;
  const std::vector<token_id> token{1};
  EXPECT_THROW(model.embed(token, &value, pool), std::logic_error);
  EXPECT_THROW(model.apply_head(&value, 1, &value, pool), std::logic_error);
}

}  // namespace
}  // namespace vouch
