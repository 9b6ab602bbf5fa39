// SmolLM2-135M-Instruct (Q4_1) against transformers in float32 with the same
// dequantised weights (tools/golden/make_smollm2.py): how far the logits are,
// and that a greedy pick differs only where the reference hardly prefers one.

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "engine/checkpoint/checkpoint.hpp"
#include "engine/checkpoint/dequantized.hpp"
#include "engine/checkpoint/json_file.hpp"
#include "kernels/log_softmax.hpp"
#include "tests/engine/models/model_runner.hpp"
#include "tests/support/files.hpp"

namespace vouch {
namespace {

using engine::token_id;

constexpr std::size_t steps = 48;
constexpr std::size_t top = 64;

/// What the reference says to one prompt.
struct reference_text {
  std::vector<token_id> prompt;
  /// [steps][top], the largest logit first: column 0 is the greedy pick.
  std::vector<token_id> ids;
  std::vector<float> logits;

  token_id pick(std::size_t step) const { return ids[step * top]; }
  float margin(std::size_t step) const {
    return logits[step * top] - logits[step * top + 1];
  }
};

template <class T>
std::vector<T> read_numbers(const std::string& name) {
  const auto bytes = test::read_file(test::fixture("smollm2/" + name));
  std::vector<T> result(bytes.size() / sizeof(T));
  std::memcpy(result.data(), bytes.data(), result.size() * sizeof(T));
  return result;
}

std::vector<reference_text> read_reference() {
  const auto ids = read_numbers<token_id>("top.ids.i32");
  const auto logits = read_numbers<float>("top.logits.f32");
  std::vector<reference_text> result;
  const auto file =
      engine::json_object::load(test::fixture("smollm2/prompts.json"));
  for (const auto& entry : file.objects("prompts")) {
    const auto begin = static_cast<std::ptrdiff_t>(result.size() * steps * top);
    const auto end = begin + static_cast<std::ptrdiff_t>(steps * top);
    reference_text text;
    for (const auto id : entry.integers("tokens")) {
      text.prompt.push_back(static_cast<token_id>(id));
    }
    text.ids.assign(ids.begin() + begin, ids.begin() + end);
    text.logits.assign(logits.begin() + begin, logits.begin() + end);
    result.push_back(std::move(text));
  }
  return result;
}

struct measured {
  test::distance distance;
  std::size_t values = 0;
  int wrong_picks = 0;
  float widest_wrong_margin = 0;
};

/// One row beside the reference's; the differences are added to `sum`.
void add_step(const reference_text& text, std::size_t step, const float* row,
              std::int64_t vocabulary, measured& result, double& sum) {
  for (std::size_t i = step * top; i < (step + 1) * top; ++i) {
    const double difference =
        std::abs(double{row[static_cast<std::size_t>(text.ids[i])]} -
                 double{text.logits[i]});
    EXPECT_FALSE(std::isnan(difference));
    result.distance.max = std::max(result.distance.max, difference);
    sum += difference;
    ++result.values;
  }
  if (kernels::reference::argmax(row, vocabulary) != text.pick(step)) {
    ++result.wrong_picks;
    result.widest_wrong_margin =
        std::max(result.widest_wrong_margin, text.margin(step));
  }
}

/// Teacher-forced: the reference's own continuation is the input, so that every
/// step is comparable whatever was picked before.
measured measure(test::model_runner& runner,
                 const std::vector<reference_text>& texts,
                 std::size_t steps_of_each = steps) {
  measured result;
  double sum = 0;
  for (const auto& text : texts) {
    runner.restart();
    auto given = text.prompt;
    for (std::size_t step = 0; step < steps_of_each; ++step) {
      const auto logits = runner.step(given, 1);
      add_step(text, step, logits.data(), runner.vocabulary(), result, sum);
      given = {text.pick(step)};
    }
  }
  result.distance.mean = sum / static_cast<double>(result.values);
  return result;
}

/// The same, each text in one step of many rows.
measured measure_at_once(test::model_runner& runner,
                         const std::vector<reference_text>& texts) {
  measured result;
  double sum = 0;
  for (const auto& text : texts) {
    runner.restart();
    auto given = text.prompt;
    for (std::size_t step = 0; step + 1 < steps; ++step) {
      given.push_back(text.pick(step));
    }
    const auto logits = runner.step(given, steps);
    for (std::size_t step = 0; step < steps; ++step) {
      const auto* row =
          logits.data() + step * static_cast<std::size_t>(runner.vocabulary());
      add_step(text, step, row, runner.vocabulary(), result, sum);
    }
  }
  result.distance.mean = sum / static_cast<double>(result.values);
  return result;
}

void report(const char* what, const measured& result) {
  std::printf(
      "%s: max %.5f, mean %.6f over %zu logits; %d other greedy picks"
      " (widest margin %.4f)\n",
      what, result.distance.max, result.distance.mean, result.values,
      result.wrong_picks, result.widest_wrong_margin);
}

class SmolLM2 : public ::testing::Test {
 protected:
  void SetUp() override {
    path_ = test::cached("models/SmolLM2-135M-Instruct.Q4_1.gguf");
    VOUCH_REQUIRE_CACHED(path_);
    source_ = engine::open_checkpoint(path_);
    texts_ = read_reference();
    ASSERT_EQ(texts_.size(), 6U);
  }

  std::filesystem::path path_;
  std::shared_ptr<engine::checkpoint> source_;
  std::vector<reference_text> texts_;
  kernels::thread_pool pool_{2};
};

TEST_F(SmolLM2, Float32WeightsGiveTheReference) {
  // Two short texts suffice: every weight takes part in every token.
  texts_.resize(4);
  texts_.erase(texts_.begin(), texts_.begin() + 2);
  test::model_runner runner{*engine::dequantize(source_), pool_, 512};
  const auto result = measure(runner, texts_, 16);
  report("float32 weights and KV", result);
  EXPECT_LT(result.distance.max, 1e-3);
  EXPECT_LT(result.distance.mean, 1e-4);
  EXPECT_LE(result.widest_wrong_margin, result.distance.max);
}

TEST_F(SmolLM2, ServedModelStaysNearTheReference) {
  test::model_runner runner{*source_, pool_, 512, kernels::dtype::f16};
  const auto result = measure(runner, texts_);
  report("Q4_1 weights, 8-bit activations, F16 KV", result);
  EXPECT_LT(result.distance.max, 2.0);
  EXPECT_LT(result.distance.mean, 0.2);
  EXPECT_LE(result.widest_wrong_margin, result.distance.max);
}

TEST_F(SmolLM2, TheFastPlanStaysNearTheReferenceToo) {
  test::model_runner runner{*source_, pool_, 512, kernels::dtype::f16};
  const auto kept = measure_at_once(runner, texts_);
  report("many rows, invariant", kept);
  runner.set_plan(kernels::kernel_plan::fast);
  const auto result = measure_at_once(runner, texts_);
  report("many rows, fast", result);
  EXPECT_NE(result.distance.mean, kept.distance.mean);
  EXPECT_LT(result.distance.max, 2.0);
  EXPECT_LT(result.distance.mean, 1.2 * kept.distance.mean);
  EXPECT_LE(result.widest_wrong_margin, result.distance.max);
}

}  // namespace
}  // namespace vouch
