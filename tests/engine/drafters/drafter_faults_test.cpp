// Drafters that fail, that are fed wrong taps, or whose proposals are
// overwritten: the target's bytes stay what they are.

#include <limits>
#include <memory>
#include <stdexcept>
#include <vector>

#include <gtest/gtest.h>

#include "engine/drafters/dflash_drafter.hpp"
#include "engine/drafters/overwritten_drafter.hpp"
#include "engine/speculation/scripted_drafter.hpp"
#include "tests/engine/drafters/drafting_world.hpp"
#include "tests/engine/executor/fake_model.hpp"
#include "tests/engine/models/dflash_fixture.hpp"

namespace vouch {
namespace {

using engine::device_draft_job;
using engine::stepped_rows;
using engine::token_id;
using test::drafting_world;

constexpr int vocabulary = 64;

std::shared_ptr<engine::dflash_drafter> make_dflash() {
  test::dflash_world world{1};
  return std::make_shared<engine::dflash_drafter>(
      world.form("full"), engine::dflash_drafter_options{});
}

/// Hands on what it is told to a DFlash drafter, after a test has had a look
/// at it.
class meddling_drafter : public engine::device_drafter {
 public:
  std::function<void(std::vector<float>&)> on_taps;
  std::function<void()> on_step = [] {};
  std::function<void()> on_propose = [] {};

  engine::drafter_kind kind() const override { return live_->kind(); }
  int max_width() const override { return live_->max_width(); }
  std::string description() const override { return "meddling"; }
  std::span<const std::int32_t> taps() const override { return live_->taps(); }
  std::size_t context_bytes() const override { return live_->context_bytes(); }
  void open(engine::slot_id slot) override { live_->open(slot); }
  void release(engine::slot_id slot) override { live_->release(slot); }
  void after_step(std::span<const stepped_rows> items,
                  kernels::thread_pool& pool) override {
    on_step();
    for (auto item : items) {
      std::vector<float> taps(
          item.taps,
          item.taps + item.tokens.size() * live_->taps().size() * hidden);
      if (on_taps) on_taps(taps);
      item.taps = taps.data();
      live_->after_step({&item, 1}, pool);
    }
  }
  void propose(std::span<device_draft_job> jobs, engine::model& target,
               kernels::thread_pool& pool) override {
    on_propose();
    live_->propose(jobs, target, pool);
  }

  static constexpr std::size_t hidden = 32;

 private:
  std::shared_ptr<engine::dflash_drafter> live_ = make_dflash();
};

struct played {
  std::vector<token_id> text;
  std::vector<std::byte> kv;
  std::vector<std::vector<token_id>> drafts;
  int problems = 0;
};

/// Rounds with the drafter's own proposals, accepted or not.
played play(std::shared_ptr<engine::device_drafter> drafter, int rounds = 12) {
  drafting_world world{"dflash/target", drafter};
  played result;
  world.open(0, test::some_prompt(33, vocabulary));
  world.prefill_all(0, 20);
  for (int i = 0; i < rounds; ++i) {
    const auto draft = world.draft(0, 2 + i % 7);
    result.problems += draft.problem.empty() ? 0 : 1;
    if (!draft.problem.empty()) {
      EXPECT_TRUE(draft.proposal.tokens.empty());
    }
    result.drafts.push_back(draft.proposal.tokens);
    world.verify(0, draft.proposal.tokens);
  }
  while (world.text(0).size() < 70) world.decode_one(0);
  world.text(0).resize(70);
  result.text = world.text(0);
  result.kv = world.kv(0);
  return result;
}

played classic() {
  drafting_world world{"dflash/target"};
  world.open(0, test::some_prompt(33, vocabulary));
  world.prefill_all(0);
  while (world.text(0).size() < 70) world.decode_one(0);
  return {world.text(0), world.kv(0), {}, 0};
}

TEST(DrafterFaults, CorruptedTapsChangeDraftsAndNoTargetByte) {
  const auto expected = classic();
  const auto sound = play(std::make_shared<meddling_drafter>());
  EXPECT_EQ(sound.text, expected.text);
  EXPECT_EQ(sound.kv, expected.kv);
  EXPECT_EQ(sound.problems, 0);
  auto drafter = std::make_shared<meddling_drafter>();
  drafter->on_taps = [](std::vector<float>& taps) {
    for (std::size_t i = 0; i < taps.size(); i += 3) taps[i] = -taps[i];
  };
  const auto corrupted = play(drafter);
  EXPECT_NE(corrupted.drafts, sound.drafts);
  EXPECT_EQ(corrupted.text, expected.text);
  EXPECT_EQ(corrupted.kv, expected.kv);
}

TEST(DrafterFaults, NansAreAProblemOfTheDraftAlone) {
  const auto expected = classic();
  auto drafter = std::make_shared<meddling_drafter>();
  drafter->on_taps = [](std::vector<float>& taps) {
    taps[0] = std::numeric_limits<float>::quiet_NaN();
  };
  const auto result = play(drafter);
  EXPECT_EQ(result.problems, 12);
  EXPECT_EQ(result.text, expected.text);
  EXPECT_EQ(result.kv, expected.kv);
}

TEST(DrafterFaults, ExceptionsEndNoStep) {
  const auto expected = classic();
  auto drafter = std::make_shared<meddling_drafter>();
  int steps = 0;
  drafter->on_step = [&] {
    if (++steps % 4 == 3) throw std::runtime_error{"no step for me"};
  };
  int proposals = 0;
  drafter->on_propose = [&] {
    if (++proposals % 5 == 0) throw 5;
  };
  const auto result = play(drafter);
  EXPECT_GT(result.problems, 3);
  EXPECT_LT(result.problems, 12);
  EXPECT_EQ(result.text, expected.text);
  EXPECT_EQ(result.kv, expected.kv);
}

TEST(DrafterFaults, TheWordsOfAFailureComeWithTheNextDraft) {
  auto drafter = std::make_shared<meddling_drafter>();
  bool fail = true;
  drafter->on_step = [&] {
    if (fail) throw std::runtime_error{"out of luck"};
  };
  drafting_world world{"dflash/target", drafter};
  world.open(0, test::some_prompt(20, vocabulary));
  world.prefill_all(0);
  fail = false;
  EXPECT_EQ(world.draft(0, 4).problem, "out of luck");
  // From here on its context starts cold.
  world.decode_one(0);
  EXPECT_EQ(world.draft(0, 4).problem, "");
}

// ------------------------------------------------------------ overwritten

TEST(OverwrittenDrafter, MovesContextsAfterEveryAcceptCount) {
  const auto expected = classic();
  for (const auto mode :
       {engine::script::right, engine::script::wrong,
        engine::script::alternating, engine::script::probable}) {
    engine::scripted_options options;
    options.mode = mode;
    options.probabilities = {0.8, 0.6};
    options.vocabulary = vocabulary;
    options.oracle = engine::oracle_of_texts({expected.text});
    auto live = make_dflash();
    auto drafter = std::make_shared<engine::overwritten_drafter>(
        live, engine::scripted_drafter::make(options).loaded);
    EXPECT_EQ(drafter->kind(), engine::drafter_kind::scripted);
    EXPECT_EQ(drafter->max_width(), 8);

    drafting_world world{"dflash/target", drafter};
    drafting_world plain{"dflash/target", make_dflash()};
    world.open(0, test::some_prompt(33, vocabulary));
    world.prefill_all(0, 20);
    int accepted = 0;
    int rounds = 0;
    while (world.text(0).size() + 8 < 70) {
      const auto drafts = world.drafts(0, 8);
      ASSERT_EQ(drafts.size(), 7U);
      accepted += world.verify(0, drafts);
      ++rounds;
    }
    if (mode == engine::script::right) {
      EXPECT_EQ(accepted, 7 * rounds);
    } else if (mode == engine::script::wrong) {
      EXPECT_EQ(accepted, 0);
    }
    EXPECT_TRUE(std::equal(world.text(0).begin(), world.text(0).end(),
                           expected.text.begin()));
    // The live drafter's context is that of a classic run.
    world.draft(0, 2);
    plain.open(0, test::some_prompt(33, vocabulary));
    plain.prefill_all(0);
    while (plain.text(0).size() < world.text(0).size()) plain.decode_one(0);
    ASSERT_NE(live->context_of(0), nullptr);
    EXPECT_EQ(live->context_of(0)->end(), world.position(0));
    std::vector<token_id> mine;
    {
      // Without the script on top, both draft alike.
      kernels::thread_pool pool{1};
      const auto target = test::fixture_model("dflash/target");
      std::vector<token_id> history = world.text(0);
      const auto anchor = history.back();
      history.pop_back();
      device_draft_job job{0, history, anchor, 8};
      live->propose({&job, 1}, *target, pool);
      mine = job.result.tokens;
    }
    EXPECT_EQ(mine, plain.drafts(0, 8));
  }
}

// ------------------------------------------------------------ no drafter

TEST(ExecutorWithoutADrafter, SaysSo) {
  drafting_world world{"dflash/target"};
  world.open(0, test::some_prompt(10, vocabulary));
  world.prefill_all(0);
  const auto result = world.draft({world.draft_item(0, 4)});
  EXPECT_EQ(result.error, "the executor has no drafter");
  EXPECT_TRUE(result.items.empty());
}

TEST(ExecutorWithADrafter, RefusesATargetThatHandsOutNoHiddenStates) {
  engine::cpu_executor_options options;
  options.drafter = make_dflash();
  options.blocks = 8;
  options.threads = 1;
  EXPECT_THROW(
      engine::make_cpu_executor(std::make_shared<test::fake_model>(), options),
      std::invalid_argument);
}

TEST(ExecutorWithADrafter, ACompletionThatThrowsIsCalledWithAnError) {
  drafting_world world{"dflash/target", make_dflash()};
  world.open(0, test::some_prompt(10, vocabulary));
  std::promise<std::string> second;
  int calls = 0;
  world.device->draft({7, {}}, [&](engine::draft_result result) {
    if (++calls == 1) throw std::runtime_error{"not now"};
    EXPECT_EQ(result.id, 7U);
    second.set_value(result.error);
  });
  EXPECT_NE(second.get_future().get().find("not now"), std::string::npos);
  world.prefill_all(0);
}

}  // namespace
}  // namespace vouch
