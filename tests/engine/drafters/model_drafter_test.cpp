// A draft model behind the executor: its proposals are its own greedy text
// after the slot's tokens, in whatever rounds, batches and pieces it came to
// know them.

#include "engine/drafters/model_drafter.hpp"

#include <algorithm>
#include <random>
#include <vector>

#include <gtest/gtest.h>

#include "engine/drafters/load_drafter.hpp"
#include "tests/engine/drafters/drafting_world.hpp"
#include "tests/engine/executor/fake_model.hpp"
#include "tests/engine/models/model_runner.hpp"

namespace vouch {
namespace {

using engine::model_drafter;
using engine::model_drafter_options;
using engine::token_id;
using test::drafting_world;

constexpr int vocabulary = 256;
constexpr const char* target_name = "llama_golden/default";
constexpr const char* other_name = "mistral_golden";

std::shared_ptr<model_drafter> make_drafter(
    const std::string& name, model_drafter_options options = {}) {
  kernels::thread_pool pool{1};
  return std::make_shared<model_drafter>(
      engine::load_model(*engine::open_checkpoint(test::fixture(name)), pool),
      options);
}

/// What a model goes on with after `text`, greedily and alone.
std::vector<token_id> greedy_text(const std::string& name,
                                  const std::vector<token_id>& text,
                                  int count) {
  kernels::thread_pool pool{1};
  test::model_runner runner{*engine::open_checkpoint(test::fixture(name)), pool,
                            128, kernels::dtype::f16};
  std::vector<token_id> result;
  auto logits = runner.step(text, 1);
  while (true) {
    result.push_back(static_cast<token_id>(
        std::max_element(logits.begin(), logits.end()) - logits.begin()));
    if (static_cast<int>(result.size()) == count) return result;
    const std::vector<token_id> next{result.back()};
    logits = runner.step(next, 1);
  }
}

TEST(ModelDrafter, DraftsItsOwnGreedyText) {
  drafting_world world{target_name, make_drafter(other_name)};
  world.open(1, test::some_prompt(30, vocabulary));
  world.prefill_all(1, 12);
  std::mt19937 random{3};
  int accepted = 0;
  for (int round = 0; round < 12; ++round) {
    const int width = 2 + static_cast<int>(random() % 5);
    auto drafts = world.drafts(1, width);
    ASSERT_EQ(drafts, greedy_text(other_name, world.text(1), width - 1));
    // Rounds of every kind follow: its own drafts, others, or none.
    if (round % 3 == 1) {
      std::reverse(drafts.begin(), drafts.end());
    } else if (round % 3 == 2) {
      world.decode_one(1);
      continue;
    }
    accepted += world.verify(1, drafts);
  }
}

void expect_always_accepted(const engine::sampling_params& sampling) {
  drafting_world world{target_name, make_drafter(target_name)};
  drafting_world classic{target_name};
  const auto prompt = test::some_prompt(20, vocabulary);
  world.open(0, prompt, true, sampling);
  world.prefill_all(0);
  for (const int width : {2, 3, 4, 6, 8, 16}) {
    const auto drafts = world.drafts(0, width);
    ASSERT_EQ(static_cast<int>(drafts.size()), width - 1);
    EXPECT_EQ(world.verify(0, drafts), width - 1);
  }
  classic.open(0, prompt, true, sampling);
  classic.prefill_all(0);
  while (classic.text(0).size() < world.text(0).size()) classic.decode_one(0);
  EXPECT_EQ(world.text(0), classic.text(0));
  EXPECT_EQ(world.kv(0), classic.kv(0));
}

TEST(ModelDrafter, TheTargetItselfIsAlwaysAccepted) {
  expect_always_accepted(test::greedy_sampling());
}

/// It draws with the sequence's own noise, behind its own penalties.
TEST(ModelDrafter, TheTargetItselfIsAlwaysAcceptedWhenSampling) {
  engine::sampling_params sampling;
  sampling.temperature = 0.8F;
  sampling.top_p = 0.95F;
  sampling.frequency_penalty = 0.7F;
  sampling.repetition_penalty = 1.2F;
  sampling.logit_bias = {{17, 2.0F}};
  for (const std::uint64_t seed : {1, 2, 3}) {
    sampling.seed = seed;
    expect_always_accepted(sampling);
  }
}

TEST(ModelDrafter, ManySlotsTogetherEqualEachAlone) {
  drafting_world world{target_name, make_drafter(other_name)};
  for (int slot = 0; slot < 4; ++slot) {
    world.open(slot, test::some_prompt(5 + 13 * slot, vocabulary, slot));
    world.prefill_all(slot);
  }
  for (int round = 0; round < 4; ++round) {
    std::vector<engine::draft_item> wanted;
    for (int slot = 0; slot < 4; ++slot) {
      if ((round + slot) % 4 != 3) {
        wanted.push_back(world.draft_item(slot, 2 + (slot + round) % 4));
      }
    }
    const auto result = world.draft(wanted);
    for (std::size_t i = 0; i < wanted.size(); ++i) {
      const auto slot = wanted[i].slot;
      EXPECT_EQ(result.items.at(i).problem, "");
      const auto& drafts = result.items.at(i).proposal.tokens;
      EXPECT_EQ(drafts,
                greedy_text(other_name, world.text(slot), wanted[i].width - 1));
      world.verify(slot, drafts);
    }
  }
}

TEST(ModelDrafter, ReadsAPrefixFromTheCacheLikeAnyOther) {
  const auto prompt = test::some_prompt(40, vocabulary);
  drafting_world world{target_name, make_drafter(other_name)};
  world.open(0, prompt, false);
  world.prefill_all(0);
  world.open(0, prompt);
  world.device->set_history(0, {prompt.begin(), prompt.begin() + 32});
  world.prefill_all(0, 100, 32);
  EXPECT_EQ(world.drafts(0, 5), greedy_text(other_name, world.text(0), 4));
}

TEST(ModelDrafter, CatchesUpPieceByPiece) {
  model_drafter_options options;
  options.catch_up = 20;
  drafting_world world{target_name, make_drafter(other_name, options)};
  world.open(0, test::some_prompt(90, vocabulary));
  world.prefill_all(0);
  world.open(1, test::some_prompt(12, vocabulary, 2));
  world.prefill_all(1);
  // 91 tokens are 5 calls; who lacks little waits for nobody.
  for (int call = 1; call <= 5; ++call) {
    const auto result =
        world.draft({world.draft_item(0, 4), world.draft_item(1, 4)});
    EXPECT_EQ(result.items.at(0).problem, "");
    EXPECT_EQ(result.items.at(0).proposal.tokens.empty(), call < 5) << call;
    EXPECT_EQ(result.items.at(1).proposal.tokens,
              greedy_text(other_name, world.text(1), 3));
    if (call == 5) {
      EXPECT_EQ(result.items.at(0).proposal.tokens,
                greedy_text(other_name, world.text(0), 3));
    }
  }
}

TEST(ModelDrafter, TakesMemoryFromWhoeverWasDraftedForLongestAgo) {
  model_drafter_options options;
  kernels::thread_pool pool{1};
  const auto config =
      engine::open_checkpoint(test::fixture(other_name))->config();
  const kernels::kv_layout layout{config.kv_heads, config.head_dim,
                                  kernels::dtype::f16};
  const auto block =
      layout.block_bytes() * static_cast<std::size_t>(config.layers);
  // 40 tokens and three drafts are 3 blocks: two sequences' worth.
  options.kv_bytes = 6 * block;
  const auto drafter = make_drafter(other_name, options);
  drafting_world world{target_name, drafter};
  for (int slot = 0; slot < 3; ++slot) {
    world.open(slot, test::some_prompt(40, vocabulary, slot));
    world.prefill_all(slot);
    EXPECT_EQ(world.drafts(slot, 4),
              greedy_text(other_name, world.text(slot), 3));
  }
  EXPECT_EQ(drafter->context_bytes(), 6 * block);
  // All of one call do not fit: the first two are served.
  const auto result = world.draft(
      {world.draft_item(0, 4), world.draft_item(1, 4), world.draft_item(2, 4)});
  int problems = 0;
  for (const auto& item : result.items) {
    problems += item.problem.find("full") != std::string::npos ? 1 : 0;
    if (item.problem.empty()) {
      EXPECT_EQ(item.proposal.tokens,
                greedy_text(other_name, world.text(item.slot), 3));
    }
  }
  EXPECT_EQ(problems, 1);
  world.device->release(0);
  world.device->release(1);
  world.device->release(2);
  world.draft({});
  EXPECT_EQ(drafter->context_bytes(), 0U);
}

TEST(ModelDrafter, StopsAtItsOwnContext) {
  model_drafter_options options;
  options.context = 48;
  drafting_world world{target_name, make_drafter(other_name, options)};
  world.open(0, test::some_prompt(46, vocabulary));
  world.prefill_all(0);
  // The anchor stands at 46: its row and one more fit.
  EXPECT_EQ(world.drafts(0, 6), greedy_text(other_name, world.text(0), 2));
  world.decode_one(0);
  world.decode_one(0);
  EXPECT_NE(world.draft(0, 6).problem.find("context of 48"), std::string::npos);
}

TEST(ModelDrafter, ANanIsAProblemOfItsSlotAlone) {
  auto weights = std::make_unique<test::fake_model>(vocabulary);
  weights->nan_token = 77;
  drafting_world world{
      target_name, std::make_shared<model_drafter>(std::move(weights),
                                                   model_drafter_options{})};
  for (const int slot : {0, 1}) {
    world.open(slot, test::some_prompt(10, vocabulary, slot));
    world.prefill_all(slot);
  }
  auto items = std::vector{world.draft_item(0, 3), world.draft_item(1, 3)};
  items[0].anchor = 77;
  const auto result = world.draft(items);
  EXPECT_NE(result.items.at(0).problem.find("NaN"), std::string::npos);
  EXPECT_TRUE(result.items.at(0).proposal.tokens.empty());
  EXPECT_EQ(result.items.at(1).problem, "");
  EXPECT_EQ(result.items.at(1).proposal.tokens.size(), 2U);
}

/// Files of a real size: the vocabularies are compared token by token, a long
/// prompt is read in pieces, and what is drafted is accepted.
TEST(ModelDrafter, SmolLM2DraftsForItself) {
  const auto file = test::cached("models/SmolLM2-135M-Instruct.Q4_1.gguf");
  VOUCH_REQUIRE_CACHED(file);
  kernels::thread_pool pool{1};
  std::shared_ptr<engine::model> target =
      engine::load_model(*engine::open_checkpoint(file), pool);
  engine::drafter_choice choice;
  choice.name = file.string();
  choice.slots = 6;
  choice.catch_up = 100;
  auto loaded = engine::load_drafter(choice, *target,
                                     engine::load_tokenizer(file).get(), pool);
  ASSERT_TRUE(loaded.device) << loaded.declined.value().detail;
  drafting_world world{target, loaded.device};
  engine::sampling_params sampling;
  sampling.seed = 5;
  world.open(0, test::some_prompt(250, 49152), true, sampling);
  world.prefill_all(0, 128);
  for (int call = 0; call < 2; ++call) EXPECT_TRUE(world.drafts(0, 4).empty());
  for (int round = 0; round < 3; ++round) {
    EXPECT_EQ(world.verify(0, world.drafts(0, 4)), 3);
  }
}

TEST(ModelDrafter, WarmingUpLeavesNothing) {
  const auto drafter = make_drafter(other_name);
  kernels::thread_pool pool{2};
  drafter->warm_up(pool);
  EXPECT_EQ(drafter->context_bytes(), 0U);
  drafting_world world{target_name, drafter};
  world.open(0, test::some_prompt(20, vocabulary));
  world.prefill_all(0);
  EXPECT_EQ(world.drafts(0, 5), greedy_text(other_name, world.text(0), 4));
}

TEST(ModelDrafter, RefusesOptionsWithoutABlock) {
  model_drafter_options options;
  options.kv_bytes = 10;
  EXPECT_THROW(make_drafter(other_name, options), std::invalid_argument);
  options = {};
  options.slots = 0;
  EXPECT_THROW(make_drafter(other_name, options), std::invalid_argument);
}

}  // namespace
}  // namespace vouch
