// Tiny random DFlash drafters of every form against the draft logits that the
// reference package computes for them (tools/golden/make_dflash.py), round by
// round, with the target's taps made here.

#include <algorithm>
#include <span>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "tests/engine/models/dflash_fixture.hpp"

namespace vouch {
namespace {

using engine::token_id;
using test::compare;
using test::dflash_golden;
using test::dflash_world;

// Both sides round in float32, by 1e-4 and less; a wrong tap, mask, norm or
// position shows from 1e-2.
constexpr double tolerance = 5e-4;

/// Plays the recorded rounds. Returns the largest difference of a logit, and
/// counts the drafts that differ.
struct outcome {
  double difference = 0;
  int drafts = 0;
  int wrong_drafts = 0;
};

outcome play(dflash_world& world, engine::dflash& drafter,
             const dflash_golden& golden) {
  outcome result;
  world.tap(drafter);
  world.target.restart();
  world.target.step(golden.prompt, 1);
  auto context = drafter.new_context();
  const auto append = [&](std::size_t rows) {
    drafter.append(context, world.target.taps().data(),
                   static_cast<std::int64_t>(rows), world.pool);
  };
  append(golden.prompt.size());
  for (const auto& round : golden.rounds) {
    const auto silent =
        static_cast<std::size_t>(drafter.config().silent_rows());
    const auto count = round.block.size() - silent;
    const auto drafts = drafter.propose(context, round.block.front(),
                                        static_cast<std::int32_t>(count),
                                        world.target.model(), world.pool);
    const auto expected =
        std::span{round.logits}.subspan(silent * golden.vocabulary);
    result.difference =
        std::max(result.difference, compare(drafter.logits(), expected).max);
    EXPECT_EQ(drafts.size(), round.drafts.size());
    for (std::size_t i = 0; i < drafts.size(); ++i) {
      ++result.drafts;
      if (drafts[i] != round.drafts.at(i)) ++result.wrong_drafts;
    }
    const auto start = context.end();
    world.target.step(round.block);
    append(static_cast<std::size_t>(round.accepted) + 1);
    world.target.truncate(start + round.accepted + 1);
  }
  return result;
}

void expect_golden(dflash_world& world, engine::dflash& drafter,
                   const dflash_golden& golden) {
  const auto result = play(world, drafter, golden);
  EXPECT_LT(result.difference, tolerance);
  EXPECT_EQ(result.wrong_drafts, 0);
  EXPECT_GT(result.drafts, 30);
}

class DflashGolden : public ::testing::TestWithParam<const char*> {};

TEST_P(DflashGolden, DraftsAsTheReferenceDoes) {
  dflash_world world;
  const auto drafter = world.form(GetParam());
  expect_golden(world, *drafter, dflash_golden{GetParam()});
}

INSTANTIATE_TEST_SUITE_P(
    Forms, DflashGolden,
    ::testing::Values("full", "causal", "sliding_mixed", "sliding_both",
                      "sliding_wide", "yarn", "scales", "one_layer", "deep",
                      "biased", "second", "second_sliding", "own_ends",
                      "own_width", "own_vocabulary", "interleaved", "markov",
                      "mask_row"),
    [](const auto& info) { return std::string{info.param}; });

TEST(DflashGguf, PartOfAHeadIsRotated) {
  dflash_world world;
  const auto drafter = world.require(test::dflash_fixture("partial.gguf"));
  EXPECT_EQ(drafter->config().rotary_dimensions, 8);
  expect_golden(world, *drafter, dflash_golden{"partial"});
}

TEST(DflashGguf, EqualsSafetensorsInBytes) {
  dflash_world world;
  for (const auto& [gguf, form] :
       {std::pair{"full.gguf", "full"}, std::pair{"second.gguf", "second"},
        std::pair{"own_vocabulary.gguf", "own_vocabulary"},
        std::pair{"markov.gguf", "markov"}}) {
    const dflash_golden golden{form};
    const auto one = world.require(test::dflash_fixture(gguf));
    const auto other = world.form(form);
    expect_golden(world, *one, golden);
    const std::vector<float> logits{one->logits().begin(), one->logits().end()};
    play(world, *other, golden);
    EXPECT_TRUE(std::ranges::equal(logits, other->logits())) << gguf;
  }
}

/// GGUF knows one causality for all layers, and windows per layer.
TEST(DflashGguf, WindowPerLayer) {
  dflash_world world;
  const auto folder = test::dflash_folder("sliding_mixed");
  auto config = test::read_file(folder.path() / "config.json");
  config.replace(config.find("\"model_type\""), 0, "\"is_causal\": false, ");
  folder.write("config.json", config);
  const dflash_golden golden{"sliding_mixed"};
  const auto one = world.require(test::dflash_fixture("sliding.gguf"));
  const auto other = world.require(folder.path());
  play(world, *one, golden);
  const std::vector<float> logits{one->logits().begin(), one->logits().end()};
  EXPECT_GT(play(world, *other, golden).difference, 1e-2);
  EXPECT_TRUE(std::ranges::equal(logits, other->logits()));
}

TEST(DflashGguf, QuantizedStaysNearTheReference) {
  dflash_world world;
  const auto drafter = world.require(test::dflash_fixture("q8_0.gguf"));
  const auto result = play(world, *drafter, dflash_golden{"full"});
  EXPECT_GT(result.difference, 0);
  EXPECT_LT(result.difference, 0.5);
  EXPECT_LT(result.wrong_drafts, result.drafts / 4);
}

/// The same rows, of which the anchor's proposes too.
TEST(DflashGolden, SampleFromAnchor) {
  dflash_world world;
  auto golden = dflash_golden{"full"};
  for (auto& round : golden.rounds) {
    const auto row = std::span{round.logits}.first(golden.vocabulary);
    const auto best = std::max_element(row.begin(), row.end()) - row.begin();
    round.drafts.insert(round.drafts.begin(), static_cast<token_id>(best));
  }
  const auto drafter = world.form("full", {.sample_from_anchor = true});
  EXPECT_EQ(drafter->max_drafts(), 8);
  EXPECT_EQ(world.form("full")->max_drafts(), 7);
  EXPECT_EQ(world.form("markov")->max_drafts(), 8);
  expect_golden(world, *drafter, golden);
}

/// Off by one in the taps is silent but for this.
TEST(DflashGolden, TapsOfAnotherLayerShow) {
  dflash_world world;
  const auto folder = test::dflash_folder("full");
  auto config = test::read_file(folder.path() / "config.json");
  config.replace(config.find("\"mask_token_id\""), 0,
                 "\"target_layer_ids\": [0, 3], ");
  folder.write("config.json", config);
  const auto drafter = world.require(folder.path());
  EXPECT_GT(play(world, *drafter, dflash_golden{"full"}).difference, 1e-2);
}

}  // namespace
}  // namespace vouch
