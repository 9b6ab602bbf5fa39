// The points at which a forward pass shows its ops: all of them, in order, and
// without a byte's change; what is written there is what later ops read.

#include "engine/models/op_points.hpp"

#include <algorithm>
#include <functional>
#include <vector>

#include <gtest/gtest.h>

#include "tests/engine/models/model_runner.hpp"
#include "tests/support/files.hpp"

namespace vouch {
namespace {

using engine::model_op;
using engine::op_output;
using engine::token_id;
using test::model_runner;

constexpr std::int64_t count = 21;

struct shown_op {
  model_op op;
  std::int32_t layer;
  std::int64_t rows;
  std::size_t row_bytes;
  std::vector<std::byte> bytes;
};

std::vector<std::byte> copy(const op_output& made) {
  std::vector<std::byte> bytes(static_cast<std::size_t>(made.rows()) *
                               made.row_bytes());
  for (std::int64_t i = 0; i < made.rows(); ++i) {
    made.read(i, bytes.data() + static_cast<std::size_t>(i) * made.row_bytes());
  }
  return bytes;
}

/// Copies all that it is shown.
struct capture final : engine::op_points {
  void after(const op_output& made) override {
    shown.push_back(
        {made.op(), made.layer(), made.rows(), made.row_bytes(), copy(made)});
  }
  void before_kv_write(const op_output& standing) override {
    before.push_back({standing.op(), standing.layer(), standing.rows(),
                      standing.row_bytes(), copy(standing)});
  }

  const shown_op& find(model_op op, std::int32_t layer) const {
    const auto found = std::find_if(
        shown.begin(), shown.end(),
        [&](const auto& s) { return s.op == op && s.layer == layer; });
    if (found == shown.end()) throw std::out_of_range{"op was not shown"};
    return *found;
  }

  std::vector<shown_op> shown;
  std::vector<shown_op> before;
};

/// Does something to one op of one layer.
struct change final : engine::op_points {
  change(model_op op, std::int32_t layer,
         std::function<void(const op_output&)> effect)
      : op{op}, layer{layer}, effect{std::move(effect)} {}
  void after(const op_output& made) override {
    if (made.op() == op && made.layer() == layer) effect(made);
  }
  model_op op;
  std::int32_t layer;
  std::function<void(const op_output&)> effect;
};

class OpPoints : public ::testing::TestWithParam<const char*> {
 protected:
  OpPoints() {
    for (std::int64_t i = 0; i < count; ++i) {
      tokens.push_back(static_cast<token_id>((i * 37 + 11) % 256));
    }
    for (std::size_t i = 0; i < engine::model_op_names.size(); ++i) {
      const auto op = static_cast<model_op>(i);
      if (!engine::in_layers(op)) {
        points.emplace_back(op, -1);
        continue;
      }
      for (std::int32_t l = 0; l < source->config().layers; ++l) {
        points.emplace_back(op, l);
      }
    }
  }

  std::shared_ptr<engine::checkpoint> source =
      engine::open_checkpoint(test::fixture(GetParam()));
  kernels::thread_pool pool{2};
  std::vector<token_id> tokens;
  std::vector<std::pair<model_op, std::int32_t>> points;
};

TEST_P(OpPoints, CapturingChangesNoByte) {
  for (const auto type : {kernels::dtype::f32, kernels::dtype::f16}) {
    for (const std::size_t chunk : {std::size_t{count}, std::size_t{4}}) {
      model_runner without{*source, pool, 64, type};
      model_runner with{*source, pool, 64, type};
      without.tap({0, 1});
      with.tap({0, 1});
      capture seen;
      with.show(&seen);
      EXPECT_EQ(with.run(tokens, chunk), without.run(tokens, chunk));
      EXPECT_EQ(with.memory(), without.memory());
      EXPECT_EQ(with.taps(), without.taps());
      EXPECT_FALSE(seen.shown.empty());
    }
  }
}

TEST_P(OpPoints, ShowEveryOpOfEveryLayerInOrder) {
  model_runner runner{*source, pool, 64};
  runner.tap({1});
  capture seen;
  runner.show(&seen);
  const auto logits = runner.step(tokens, 3);
  const auto layers = source->config().layers;
  std::vector<std::pair<model_op, std::int32_t>> expected{
      {model_op::embed, -1}};
  for (std::int32_t l = 0; l < layers; ++l) {
    for (auto op = model_op::norm; engine::in_layers(op);
         op = static_cast<model_op>(static_cast<int>(op) + 1)) {
      expected.emplace_back(op, l);
    }
  }
  for (const auto op :
       {model_op::taps, model_op::final_norm, model_op::logits}) {
    expected.emplace_back(op, -1);
  }
  std::vector<std::pair<model_op, std::int32_t>> order;
  for (const auto& each : seen.shown) {
    order.emplace_back(each.op, each.layer);
    const bool head =
        each.op == model_op::final_norm || each.op == model_op::logits;
    EXPECT_EQ(each.rows, head ? 3 : count);
  }
  EXPECT_EQ(order, expected);
  EXPECT_EQ(seen.before.size(), static_cast<std::size_t>(layers));
  // Ends that can be had in another way.
  const auto& made = seen.find(model_op::logits, -1);
  ASSERT_EQ(made.bytes.size(), logits.size() * sizeof(float));
  EXPECT_EQ(std::memcmp(made.bytes.data(), logits.data(), made.bytes.size()),
            0);
  const auto& tapped = seen.find(model_op::taps, -1);
  EXPECT_EQ(std::memcmp(tapped.bytes.data(), runner.taps().data(),
                        tapped.bytes.size()),
            0);
}

TEST_P(OpPoints, ShowKAndVAsTheyStand) {
  for (const auto type : {kernels::dtype::f32, kernels::dtype::f16}) {
    model_runner runner{*source, pool, 64, type};
    runner.step(tokens);
    runner.truncate(count - 5);
    const auto stored = [&](std::int32_t layer, std::int64_t position) {
      const auto& kv = runner.kv();
      const auto half =
          kernels::row_bytes(kv.layout.type, std::int64_t{kv.layout.kv_heads} *
                                                 kv.layout.head_dim);
      std::vector<std::byte> row(2 * half);
      kernels::kv_read(kv.layout, kv.layer(layer), runner.table().data(),
                       position, row.data(), row.data() + half);
      return row;
    };
    const auto old = stored(1, count - 4);
    capture seen;
    runner.show(&seen);
    runner.step(std::vector<token_id>{3, 4, 5});
    EXPECT_NE(stored(1, count - 4), old);
    const auto row = [](const shown_op& from, std::size_t index) {
      const auto* first = from.bytes.data() + index * from.row_bytes;
      return std::vector<std::byte>(first, first + from.row_bytes);
    };
    EXPECT_EQ(row(seen.before.at(1), 1), old);
    EXPECT_EQ(row(seen.find(model_op::kv_write, 1), 1), stored(1, count - 4));
  }
}

TEST_P(OpPoints, WritingBackWhatWasReadChangesNothing) {
  for (const auto type : {kernels::dtype::f32, kernels::dtype::f16}) {
    model_runner runner{*source, pool, 64, type};
    const auto logits = runner.run(tokens, count);
    const auto memory = runner.memory();
    for (const auto& [op, layer] : points) {
      change same{op, layer, [](const op_output& made) {
                    std::vector<std::byte> row(made.row_bytes());
                    for (std::int64_t i = 0; i < made.rows(); ++i) {
                      made.read(i, row.data());
                      made.write(i, row.data());
                    }
                  }};
      runner.show(&same);
      EXPECT_EQ(runner.run(tokens, count), logits) << name_of(op);
      EXPECT_EQ(runner.memory(), memory) << name_of(op);
    }
  }
}

TEST_P(OpPoints, LaterOpsReadWhatWasWritten) {
  model_runner runner{*source, pool, 64};
  runner.tap({0, 1});
  const auto logits = runner.run(tokens, count);
  const auto taps = runner.taps();
  const auto vocabulary = static_cast<std::size_t>(runner.vocabulary());
  for (const auto& [op, layer] : points) {
    constexpr std::int64_t row = 7;
    change zero{op, layer, [&](const op_output& made) {
                  const std::vector<std::byte> nothing(made.row_bytes());
                  made.write(row, nothing.data());
                }};
    runner.show(&zero);
    const auto changed = runner.run(tokens, count);
    const auto at = static_cast<std::ptrdiff_t>(row * vocabulary);
    EXPECT_TRUE(
        std::equal(logits.begin(), logits.begin() + at, changed.begin()))
        << name_of(op) << ": a row before it changed";
    if (op == model_op::taps) {
      EXPECT_EQ(changed, logits);
      EXPECT_NE(runner.taps(), taps);
    } else {
      EXPECT_FALSE(std::equal(
          logits.begin() + at,
          logits.begin() + at + static_cast<std::ptrdiff_t>(vocabulary),
          changed.begin() + at))
          << name_of(op) << " of layer " << layer;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Models, OpPoints,
                         ::testing::Values("llama_golden/default",
                                           "llama_golden/q4_1.gguf",
                                           "mistral_golden"),
                         [](const auto& info) {
                           return std::string{"m"} + std::to_string(info.index);
                         });

TEST(ModelOp, HasANameEach) {
  for (std::size_t i = 0; i < engine::model_op_names.size(); ++i) {
    const auto op = static_cast<model_op>(i);
    EXPECT_EQ(engine::model_op_of(name_of(op)), op);
  }
  EXPECT_EQ(engine::model_op_of("rope"), std::nullopt);
  EXPECT_EQ(engine::model_op_of(""), std::nullopt);
}

}  // namespace
}  // namespace vouch
