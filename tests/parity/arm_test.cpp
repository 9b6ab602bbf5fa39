// The judge of the parity suite: it must fail what did not run and find what
// differs.

#include "tests/parity/arm.hpp"

#include <string>

#include <gtest/gtest.h>

#include "tests/engine/row_contract/models.hpp"
#include "tests/support/files.hpp"

namespace vouch::test {
namespace {

parity_text some_text() {
  parity_text text;
  text.tokens = {5, 6, 7};
  text.logits = {50, 60, 70};
  text.kv = {1, 2, 3, 4};
  text.reason = engine::finish_reason::length;
  return text;
}

parity_text some_burst() {
  auto text = some_text();
  text.rounds = 2;
  text.wide_rounds = 1;
  text.drafted = 4;
  text.accepted = 1;
  return text;
}

std::string judged(const parity_text& classic, const parity_text& burst,
                   drafting how = drafting::probable) {
  parity_arm arm{how, 4, true};
  arm.take("p", classic, burst);
  std::string all;
  for (const auto& failure : arm.failures()) all += failure + "\n";
  return all;
}

TEST(parity_arm, PassesEqualTexts) {
  EXPECT_EQ(judged(some_text(), some_burst()), "");
}

TEST(parity_arm, FailsWhatDidNotRun) {
  const std::string name = "probable, width 4, alone: ";
  EXPECT_EQ(parity_arm(drafting::probable, 4, true).failures().front(),
            name + "nothing ran");
  EXPECT_NE(judged(some_text(), some_text()).find("no round was verified"),
            std::string::npos);
  auto burst = some_burst();
  burst.accepted = 0;
  EXPECT_EQ(judged(some_text(), burst), name + "no draft was accepted\n");
  burst.accepted = burst.drafted;
  EXPECT_EQ(judged(some_text(), burst), name + "no draft was rejected\n");
  EXPECT_EQ(judged(some_text(), burst, drafting::right), "");
  EXPECT_NE(judged(some_text(), burst, drafting::wrong).find("wrong draft"),
            std::string::npos);
  burst = some_burst();
  burst.wide_rounds = 0;
  EXPECT_EQ(judged(some_text(), burst),
            name + "no round of its width was verified\n");
}

TEST(parity_arm, FailsEmptyTextsAndMissingHashes) {
  EXPECT_NE(judged({}, {}).find("the text is empty"), std::string::npos);
  auto classic = some_text();
  classic.logits.clear();
  auto burst = some_burst();
  burst.logits.clear();
  EXPECT_NE(judged(classic, burst).find("no hashes"), std::string::npos);
}

TEST(parity_arm, FindsWhatDiffers) {
  const std::string name = "probable, width 4, alone: p: ";
  auto burst = some_burst();
  burst.tokens[1] = 9;
  EXPECT_EQ(judged(some_text(), burst), name + "generated token 1 differs\n");
  burst = some_burst();
  burst.logits[2] = 9;
  EXPECT_EQ(judged(some_text(), burst),
            name + "logits row of token 2 differs\n");
  burst = some_burst();
  burst.kv.pop_back();
  EXPECT_EQ(judged(some_text(), burst),
            name + "K or V of position 3 differs\n");
  burst = some_burst();
  burst.reason = engine::finish_reason::stop;
  EXPECT_EQ(judged(some_text(), burst), name + "ended for another reason\n");
}

/// A fault that only verify rows have must show, in the text's rows or in the
/// cache.
TEST(parity_arm, FindsPlantedFaults) {
  const auto weights = load(fixture(tiny_checkpoint));
  const auto run = [&](bool drafts, const std::string& faults) {
    std::vector<parity_sequence> sequences(1);
    auto& each = sequences.front();
    each.label = std::string{"p"};
    for (int i = 0; i < 24; ++i) each.start.prompt.push_back(i * 7 % 250);
    each.start.max_tokens = 20;
    each.start.sampling.temperature = 0.0F;
    each.width = 4;
    if (drafts) {
      each.drafter = open_drafter(drafting::random, {}, 256, 1);
    }
    parity_run_options options;
    options.blocks = 64;
    options.widths = engine::width_set::up_to(4);
    options.faults = faults;
    auto done = serve(weights, std::move(sequences), options);
    EXPECT_EQ(done.error, "");
    return done.texts.front();
  };
  const auto classic = run(false, "");
  EXPECT_EQ(run(true, "").logits, classic.logits);
  for (const std::string faults :
       {"op=logits phase=verify ulp=1", "op=kv_write layer=1 rows>=4 ulp=1",
        "op=rollback", "op=width most=3 ulp=1"}) {
    EXPECT_NE(
        judged(classic, run(true, faults), drafting::random).find("differs"),
        std::string::npos)
        << faults;
  }
}

}  // namespace
}  // namespace vouch::test
