// Drafts, rounds and their reports through the actors.

#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "engine/speculation/transcript_check.hpp"
#include "tests/actors/gate_world.hpp"

namespace vouch::actors {
namespace {

using engine::decline_reason;
using engine::script;
using test::scripted;
using test::text_request;
using test::world;

/// Every width up to 6 is open.
engine::gate_view open_gate() {
  engine::gate_view view;
  view.rules.widths = engine::width_set::up_to(6);
  view.rules.positions = 2048;
  view.rules.drafts.vocabulary = 256;
  view.verdict = "equal";
  view.scope = "0123456789abcdef";
  view.vouched_positions = 2048;
  return view;
}

world::adjust_function with(script mode,
                            std::vector<std::string>* transcript = nullptr) {
  return [=](components& parts) {
    parts.drafter = scripted(mode);
    parts.bursts.declined.reset();
    parts.bursts.width = 6;
    parts.bursts.fixed = true;
    parts.bursts.drafter = "scripted";
    parts.bursts.first_view = open_gate();
    if (transcript != nullptr) {
      parts.bursts.transcript = [=](const std::string& line) {
        transcript->push_back(line);
      };
    }
  };
}

std::vector<engine::token_id> classic_text(const std::string& prompt) {
  world all;
  all.submit(text_request("x", prompt, 40));
  all.run_to_end();
  return all.see("x").choices.at(0).ids();
}

TEST(Speculation, ChangesNoTextWhateverIsDrafted) {
  const auto expected = classic_text("hello");
  for (const auto mode : {script::right, script::wrong, script::alternating,
                          script::random, script::probable, script::empty}) {
    std::vector<std::string> lines;
    world all{{}, {}, with(mode, &lines)};
    all.submit(text_request("a", "hello", 40));
    all.submit(text_request("b", "hello", 40));
    all.run_to_end();
    for (const char* id : {"a", "b"}) {
      const auto seen = all.see(id);
      ASSERT_EQ(seen.terminals, 1);
      EXPECT_EQ(seen.choices.at(0).ids(), expected);
      const auto& report = seen.choices.at(0).speculation;
      ASSERT_TRUE(report.has_value());
      EXPECT_EQ(report->rounds > 0, mode != script::empty);
      EXPECT_EQ(report->verdict, "equal");
      EXPECT_TRUE(report->vouched);
      if (mode == script::right) {
        EXPECT_EQ(report->rejected(), 0);
        EXPECT_EQ(report->width, 6);
      }
      if (mode == script::wrong) {
        EXPECT_EQ(report->accepted, 0);
      }
    }
    if (mode == script::empty) continue;
    std::string text;
    for (const auto& line : lines) text += line;
    const auto entries = engine::parse_transcript("transcript", text);
    const auto checked = engine::check_transcript(entries);
    EXPECT_TRUE(checked.holds()) << checked.failures.front().detail;
    EXPECT_EQ(checked.sequences, 2);
  }
}

TEST(Speculation, NeedsFewerSteps) {
  const auto steps_of = [](const world::adjust_function& adjust) {
    world all{{}, {}, adjust};
    all.submit(text_request("a", "hello", 40));
    all.run_to_end();
    return all.counters->stats().steps;
  };
  EXPECT_GT(steps_of({}), 39U);
  EXPECT_LT(steps_of(with(script::right)), 10U);
}

TEST(Speculation, ARequestMayOptOut) {
  world all{{}, {}, with(script::right)};
  auto request = text_request("a", "hello", 20);
  request.speculation.enabled = false;
  all.submit(std::move(request));
  all.run_to_end();
  const auto report = all.see("a").choices.at(0).speculation;
  ASSERT_TRUE(report.has_value());
  EXPECT_EQ(report->rounds, 0);
  EXPECT_EQ(report->declined, decline_reason::request_opt_out);
}

TEST(Speculation, AClosedGateServesClassicallyAndSaysWhy) {
  world all{{}, {}, [](components& parts) {
              with(script::right)(parts);
              auto& view = parts.bursts.first_view;
              view.rules.widths = {};
              view.closed = decline_reason::gate_not_run;
            }};
  all.submit(text_request("a", "hello", 40));
  all.run_to_end();
  const auto seen = all.see("a");
  EXPECT_EQ(seen.choices.at(0).ids(), classic_text("hello"));
  EXPECT_EQ(seen.choices.at(0).speculation->declined,
            decline_reason::gate_not_run);
  EXPECT_NE(all.counters->text().find(
                "vouch_speculation_declines_total{reason=\"gate_not_run\"} 1"),
            std::string::npos);
}

TEST(Speculation, SiblingsSpeculateEachForItself) {
  const auto run = [](const world::adjust_function& adjust) {
    world all{{}, {}, adjust};
    auto request = text_request("a", "hello", 30);
    request.n = 3;
    request.sampling.temperature = 0.9F;
    request.has_seed = true;
    request.sampling.seed = 5;
    all.submit(std::move(request));
    all.run_to_end();
    std::vector<std::vector<engine::token_id>> texts;
    for (const auto& [index, choice] : all.see("a").choices) {
      texts.push_back(choice.ids());
    }
    return texts;
  };
  const auto expected = run({});
  ASSERT_EQ(expected.size(), 3U);
  EXPECT_NE(expected[0], expected[1]);
  EXPECT_EQ(run(with(script::probable)), expected);
}

/// Fails for as long as it is told to.
class broken_drafter final : public engine::drafter {
 public:
  engine::drafter_kind kind() const override {
    return engine::drafter_kind::scripted;
  }
  int max_width() const override { return 6; }
  bool is_free() const override { return true; }
  std::unique_ptr<engine::sequence_drafter> open() const override {
    throw std::runtime_error("no drafts today");
  }
};

TEST(Speculation, ADrafterThatThrowsFailsNobody) {
  world all{{}, {}, [](components& parts) {
              with(script::right)(parts);
              parts.drafter = std::make_shared<broken_drafter>();
            }};
  all.submit(text_request("a", "hello", 40));
  all.run_to_end();
  const auto seen = all.see("a");
  EXPECT_FALSE(seen.failed) << seen.error.message;
  EXPECT_EQ(seen.choices.at(0).ids(), classic_text("hello"));
  EXPECT_EQ(seen.choices.at(0).speculation->rounds, 0);
}

}  // namespace
}  // namespace vouch::actors
