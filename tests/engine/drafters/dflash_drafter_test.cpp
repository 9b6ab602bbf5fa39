// A DFlash drafter behind the executor: its contexts follow the committed
// tokens whatever was drafted and rejected, and nothing that it does, or that
// is done to it, changes a byte of the target's.

#include "engine/drafters/dflash_drafter.hpp"

#include <algorithm>
#include <random>
#include <vector>

#include <gtest/gtest.h>

#include "kernels/kv_layout.hpp"
#include "tests/engine/drafters/drafting_world.hpp"
#include "tests/engine/models/dflash_fixture.hpp"

namespace vouch {
namespace {

using engine::dflash_drafter;
using engine::token_id;
using test::drafting_world;

constexpr int vocabulary = 64;

/// K and V of every row, layer after layer.
std::vector<std::byte> stored(const engine::dflash_context& context) {
  const auto& layout = context.layout();
  const auto size = kernels::row_bytes(
      layout.type, std::int64_t{layout.kv_heads} * layout.head_dim);
  std::vector<std::byte> result;
  std::vector<std::byte> row(2 * size);
  for (std::int32_t layer = 0; layer < context.layers(); ++layer) {
    for (std::int64_t i = 0; i < context.rows(); ++i) {
      kernels::kv_read(layout, context.layer(layer), context.block_table(), i,
                       row.data(), row.data() + size);
      result.insert(result.end(), row.begin(), row.end());
    }
  }
  return result;
}

std::shared_ptr<dflash_drafter> make_drafter(
    const std::string& form, engine::dflash_drafter_options options = {}) {
  test::dflash_world world{1};
  options.name = form;
  return std::make_shared<dflash_drafter>(world.form(form), options);
}

struct drafted_world {
  explicit drafted_world(const std::string& form,
                         engine::dflash_drafter_options options = {},
                         int threads = 2)
      : drafter{make_drafter(form, options)},
        world{"dflash/target", drafter, threads} {}

  std::vector<std::byte> context(engine::slot_id slot) {
    const auto* one = drafter->context_of(slot);
    return one != nullptr ? stored(*one) : std::vector<std::byte>{};
  }

  std::shared_ptr<dflash_drafter> drafter;
  drafting_world world;
};

/// Prompt and `emitted` greedy tokens, drafted for nowhere.
std::vector<token_id> classic_text(const std::vector<token_id>& prompt,
                                   int emitted) {
  drafting_world world{"dflash/target"};
  world.open(0, prompt);
  world.prefill_all(0);
  for (int i = 1; i < emitted; ++i) world.decode_one(0);
  return world.text(0);
}

/// `right` of the text's next tokens, then wrong ones.
std::vector<token_id> drafts_of(const std::vector<token_id>& text,
                                std::size_t from, int right, int count) {
  std::vector<token_id> drafts;
  for (int i = 0; i < count; ++i) {
    const auto truth = text.at(from + static_cast<std::size_t>(i));
    drafts.push_back(i < right ? truth : (truth + 1 + i) % vocabulary);
  }
  return drafts;
}

class DflashDrafter : public ::testing::TestWithParam<const char*> {};

TEST_P(DflashDrafter, ContextsFollowTheCommittedTokensAfterEveryAcceptCount) {
  const auto prompt = test::some_prompt(37, vocabulary);
  const auto text = classic_text(prompt, 130);
  drafted_world burst{GetParam()};
  drafted_world plain{GetParam(), {}, 1};
  burst.world.open(2, prompt);
  burst.world.prefill_all(2, 10);
  plain.world.open(0, prompt);
  plain.world.prefill_all(0);
  int counts = 0;
  for (const int width : {8, 3, 2, 16, 5}) {
    for (int right = 0; right<width; right += width> 8 ? 5 : 1) {
      const auto length = burst.world.text(2).size();
      const auto drafts =
          drafts_of(text, length, right, std::min(width - 1, 15));
      ASSERT_EQ(burst.world.verify(2, drafts), right);
      while (plain.world.text(0).size() < burst.world.text(2).size()) {
        plain.world.decode_one(0);
      }
      ASSERT_EQ(plain.world.text(0), burst.world.text(2));
      // A draft at the anchor cuts the rows of rejected drafts.
      ASSERT_EQ(burst.world.drafts(2, 6), plain.world.drafts(0, 6));
      ASSERT_EQ(burst.context(2), plain.context(0)) << width << " " << right;
      ASSERT_FALSE(plain.context(0).empty());
      ++counts;
      if (burst.world.text(2).size() + 17 > text.size()) break;
    }
  }
  EXPECT_GE(counts, 15);
  EXPECT_EQ(burst.world.kv(2), plain.world.kv(0));
}

/// Preempted and computed again in other pieces, in another slot.
TEST_P(DflashDrafter, ARecomputedSequenceHasTheSameContext) {
  drafted_world served{GetParam()};
  auto& world = served.world;
  world.open(0, test::some_prompt(33, vocabulary));
  world.prefill_all(0, 13);
  for (int round = 0; round < 4; ++round) {
    world.verify(0, world.drafts(0, 5));
  }
  const auto drafts = world.drafts(0, 8);
  const auto context = served.context(0);
  world.device->release(0);
  auto text = world.text(0);
  const auto anchor = text.back();
  text.pop_back();
  world.open(3, text);
  world.prefill_all(3, 9);
  ASSERT_EQ(world.text(3).back(), anchor);
  EXPECT_EQ(world.drafts(3, 8), drafts);
  EXPECT_EQ(served.context(3), context);
}

TEST_P(DflashDrafter, DraftsAreThoseOfTheModelAlone) {
  const auto prompt = test::some_prompt(21, vocabulary);
  drafted_world served{GetParam()};
  served.world.open(0, prompt);
  served.world.prefill_all(0, 8);
  test::dflash_world alone;
  auto drafter = alone.form(GetParam());
  // The executor keeps K and V as f16.
  test::model_runner target{*alone.source, alone.pool, 64, kernels::dtype::f16};
  target.tap({drafter->taps().begin(), drafter->taps().end()});
  target.step(prompt, 1);
  auto context = drafter->new_context();
  drafter->append(context, target.taps().data(), 21, alone.pool);
  for (const int width : {2, 4, 8}) {
    auto expected =
        drafter->propose(context, served.world.text(0).back(), width - 1,
                         alone.target.model(), alone.pool);
    std::erase(expected, drafter->config().mask_token);
    EXPECT_EQ(served.world.drafts(0, width), expected) << width;
  }
}

TEST_P(DflashDrafter, ManySlotsTogetherEqualEachAlone) {
  drafted_world together{GetParam()};
  auto& world = together.world;
  std::vector<engine::draft_item> wanted;
  std::vector<engine::step_item> items;
  const auto prompt_of = [](int slot) {
    return test::some_prompt(9 + 23 * slot, vocabulary, slot);
  };
  for (int slot = 0; slot < 4; ++slot) {
    const auto prompt = prompt_of(slot);
    world.open(slot, prompt);
    items.push_back(test::prefill(slot, 0, prompt, world.blocks(slot)));
  }
  // One that keeps no context, in the middle of the step.
  const auto other = test::some_prompt(11, vocabulary, 7);
  world.open(5, other, false);
  items.insert(items.begin() + 2, test::prefill(5, 0, other, world.blocks(5)));
  for (const auto& result : world.run(items).items) {
    world.text(result.slot).push_back(result.picks.at(0).token);
  }
  for (int slot = 0; slot < 4; ++slot) {
    wanted.push_back(world.draft_item(slot, 3 + slot));
  }
  const auto result = world.draft(wanted);
  ASSERT_EQ(result.items.size(), 4U);
  EXPECT_EQ(together.drafter->context_of(5), nullptr);
  for (int slot = 0; slot < 4; ++slot) {
    drafted_world alone{GetParam(), {}, 1};
    alone.world.open(0, prompt_of(slot));
    alone.world.prefill_all(0, 5);
    EXPECT_EQ(alone.world.text(0), world.text(slot));
    EXPECT_EQ(result.items.at(static_cast<std::size_t>(slot)).proposal.tokens,
              alone.world.drafts(0, 3 + slot));
    EXPECT_EQ(together.context(slot), alone.context(0));
  }
}

INSTANTIATE_TEST_SUITE_P(Forms, DflashDrafter,
                         ::testing::Values("full", "causal", "sliding_mixed",
                                           "markov", "second", "own_vocabulary",
                                           "own_ends"),
                         [](const auto& info) {
                           return std::string{info.param};
                         });

TEST(DflashDrafterRows, ThatWaitedAreTheSameBytes) {
  const auto prompt = test::some_prompt(37, vocabulary);
  const auto text = classic_text(prompt, 60);
  std::vector<std::vector<std::byte>> contexts;
  for (const std::int64_t waiting : {1, 7, 16, 1000}) {
    engine::dflash_drafter_options options;
    options.waiting_rows = waiting;
    drafted_world served{"full", options};
    auto& world = served.world;
    world.open(0, prompt);
    world.open(1, test::some_prompt(20, vocabulary, 2));
    world.prefill_all(0, 10);
    world.prefill_all(1, 3);
    // Nobody asks for drafts: rejected rows are cut from those that wait.
    for (int round = 0; round < 12; ++round) {
      const auto drafts = drafts_of(text, world.text(0).size(), round % 4, 4);
      ASSERT_EQ(world.verify(0, drafts), round % 4);
      world.decode_one(1);
    }
    EXPECT_EQ(served.context(0).empty(), waiting == 1000);
    EXPECT_FALSE(world.drafts(0, 4).empty());
    contexts.push_back(served.context(0));
    ASSERT_FALSE(contexts.back().empty());
    EXPECT_EQ(contexts.back(), contexts.front()) << waiting;
  }
}

// ------------------------------------------------------------ cold starts

TEST(DflashDrafterStart, IsColdBehindAPrefixThatWasNotSeen) {
  const auto prompt = test::some_prompt(40, vocabulary);
  drafted_world served{"full"};
  auto& world = served.world;
  // Blocks 0 and 1 of the slot are filled by a sequence without a context.
  world.open(0, prompt, false);
  world.prefill_all(0);
  world.open(0, prompt);
  world.device->set_history(0, {prompt.begin(), prompt.begin() + 32});
  world.prefill_all(0, 100, 32);
  const auto drafts = world.drafts(0, 8);
  const auto* context = served.drafter->context_of(0);
  ASSERT_NE(context, nullptr);
  EXPECT_EQ(context->first_position(), 32);
  EXPECT_EQ(context->end(), 40);

  test::dflash_world alone;
  auto drafter = alone.form("full");
  test::model_runner target{*alone.source, alone.pool, 64, kernels::dtype::f16};
  target.tap({drafter->taps().begin(), drafter->taps().end()});
  target.step(prompt, 1);
  auto expected = drafter->new_context(32);
  const auto width = target.taps().size() / prompt.size();
  drafter->append(expected, target.taps().data() + 32 * width, 8, alone.pool);
  EXPECT_EQ(served.context(0), stored(expected));
  EXPECT_EQ(drafts, drafter->propose(expected, world.text(0).back(), 7,
                                     alone.target.model(), alone.pool));
}

TEST(DflashDrafterStart, TakesTheRowsOfAnotherContextWithTheSameTokens) {
  const auto prompt = test::some_prompt(40, vocabulary);
  drafted_world whole{"full"};
  whole.world.open(0, prompt);
  whole.world.prefill_all(0);
  const auto drafts = whole.world.drafts(0, 8);
  for (const bool ended : {false, true}) {
    drafted_world served{"full"};
    auto& world = served.world;
    world.open(0, prompt);
    world.prefill_all(0);
    for (int i = 0; i < 5; ++i) world.decode_one(0);
    if (ended) world.device->release(0);
    // The prefix cache gives slot 1 the blocks of slot 0.
    world.open(1, prompt);
    world.device->set_history(1, {prompt.begin(), prompt.begin() + 32});
    auto item = test::prefill(1, 32, {prompt.begin() + 32, prompt.end()},
                              world.blocks(1));
    item.blocks[0] = world.blocks(0)[0];
    item.blocks[1] = world.blocks(0)[1];
    world.text(1).push_back(world.run({item}).items.at(0).picks.at(0).token);
    ASSERT_EQ(world.text(1), whole.world.text(0));
    EXPECT_EQ(world.drafts(1, 8), drafts);
    EXPECT_EQ(served.context(1), whole.context(0)) << ended;
    EXPECT_EQ(served.drafter->context_of(1)->first_position(), 0);
  }
}

TEST(DflashDrafterStart, KeepsSoManyContexts) {
  engine::dflash_drafter_options options;
  options.kept_contexts = 2;
  drafted_world served{"full", options};
  std::size_t most = 0;
  for (int i = 0; i < 6; ++i) {
    served.world.open(0, test::some_prompt(30, vocabulary, i));
    served.world.prefill_all(0);
    served.world.device->release(0);
    served.world.draft({});  // waits
    if (i == 1) most = served.drafter->context_bytes();
  }
  EXPECT_GT(most, 0U);
  EXPECT_EQ(served.drafter->context_bytes(), most);
}

// ------------------------------------------------------------- what it may

TEST(DflashDrafterLimits, AContextWithoutRoomIsNotDraftedFor) {
  engine::dflash_drafter_options options;
  options.context_bytes = 40 << 10;
  drafted_world served{"full", options};
  auto& world = served.world;
  world.open(0, test::some_prompt(16, vocabulary));
  world.prefill_all(0);
  EXPECT_FALSE(world.drafts(0, 4).empty());
  world.open(1, test::some_prompt(200, vocabulary));
  world.prefill_all(1);
  const auto refused = world.draft(1, 4);
  EXPECT_TRUE(refused.proposal.tokens.empty());
  EXPECT_NE(refused.problem.find("no room"), std::string::npos)
      << refused.problem;
  EXPECT_LE(served.drafter->context_bytes(), options.context_bytes);
  EXPECT_FALSE(world.drafts(0, 4).empty());
  // Its slot is as good as new for the next sequence.
  world.open(1, test::some_prompt(16, vocabulary, 3));
  world.prefill_all(1);
  EXPECT_FALSE(world.drafts(1, 4).empty());
}

TEST(DflashDrafterLimits, SaysWhatItCannotDraftFor) {
  drafted_world served{"full"};
  auto& world = served.world;
  world.open(0, test::some_prompt(20, vocabulary));
  EXPECT_NE(world.draft({{3, 5, 0, 4}}).items.at(0).problem, "");
  EXPECT_NE(world.draft({{0, 5, 19, 4}}).items.at(0).problem, "");
  world.prefill_all(0);
  EXPECT_NE(world.draft({{0, 5, 90, 4}}).items.at(0).problem, "");
  EXPECT_NE(world.draft({{0, vocabulary, 20, 4}}).items.at(0).problem, "");
  const auto twice = world.draft({{0, 5, 20, 4}, {0, 5, 20, 4}});
  EXPECT_EQ(twice.items.at(0).problem, "");
  EXPECT_NE(twice.items.at(1).problem, "");
  // A block of one row needs no drafts, and a wider one than the drafter's is
  // cut.
  EXPECT_TRUE(world.drafts(0, 1).empty());
  EXPECT_LE(world.drafts(0, 60).size(), 7U);
}

}  // namespace
}  // namespace vouch
