#include "runtime/speculation_news.hpp"

#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace vouch::runtime {
namespace {

/// What a board that ends in `runtime`'s watch would have logged.
class SpeculationNews : public ::testing::Test {
 protected:
  SpeculationNews() {
    board_.watch_speculation([this](const auto& before, const auto& now) {
      for (const auto& line : speculation_news(before, now)) {
        const char* levels[] = {"info: ", "warning: ", "error: "};
        said_.push_back(levels[static_cast<int>(line.level)] + line.text);
      }
    });
    status_.drafter = "lookup";
    status_.width = 8;
    status_.prior = "lookup, *, *";
    gate_.id = "00ff";
    gate_.serves = engine::rung::batched;
    gate_.verdicts.widths[4] = {};
  }
  /// The lines since the last call.
  std::vector<std::string> said() { return std::exchange(said_, {}); }

  actors::board board_;
  engine::speculation_status status_;
  engine::gate_snapshot gate_;
  std::vector<std::string> said_;
};

using list = std::vector<std::string>;

TEST_F(SpeculationNews, TellsTheDrafterAndWhereFirstGuessesComeFrom) {
  board_.set_speculation(status_);
  EXPECT_EQ(said(), (list{"info: speculation: drafter lookup, blocks of up to "
                          "8 rows, controller auto, first guesses from "
                          "'lookup, *, *'"}));
  status_.acceptance[0] = {0.5};
  board_.set_speculation(status_);
  EXPECT_EQ(said(), list{});
  EXPECT_EQ(board_.speculation().status->acceptance[0][0], 0.5);
}

TEST_F(SpeculationNews, TellsWhyNothingIsDrafted) {
  status_.declined = engine::decline{engine::decline_reason::no_drafter, ""};
  board_.set_speculation(status_);
  EXPECT_EQ(said(),
            (list{"info: speculation: nothing is drafted: no_drafter"}));
  status_.declined =
      engine::decline{engine::decline_reason::drafter_mismatch, "64 layers"};
  board_.set_speculation(status_);
  board_.set_speculation(status_);
  EXPECT_EQ(said(), (list{"warning: speculation: nothing is drafted: "
                          "drafter_mismatch: 64 layers"}));
  status_.declined.reset();
  board_.set_speculation(status_);
  EXPECT_EQ(said(), (list{"info: speculation: the drafter drafts"}));
}

TEST_F(SpeculationNews, WarnsOfEveryEscape) {
  status_.allow_inexact = true;
  status_.plan = "fast";
  status_.faults = {"op=stop"};
  board_.set_speculation(status_);
  const auto lines = said();
  ASSERT_EQ(lines.size(), 4U);
  for (std::size_t i = 1; i < 4; ++i) {
    EXPECT_EQ(lines[i].find("warning: ESCAPE: "), 0U) << lines[i];
  }
}

TEST_F(SpeculationNews, TellsVerdictsOnceAndATripAsAnError) {
  board_.set_gate(gate_);
  EXPECT_EQ(said(), (list{"info: gate: scope 00ff"}));
  auto& four = gate_.verdicts.widths[4];
  four.state = engine::verdict_state::equal;
  four.source = engine::verdict_source::measured;
  four.rows = 5312;
  four.positions = 1024;
  gate_.serves = engine::rung::burst;
  board_.set_gate(gate_);
  EXPECT_EQ(said(), (list{"info: gate: blocks of 4 rows: " +
                              engine::describe(four) + " (measured)",
                          "info: gate: serves 'burst' from now on"}));
  four.rows = 6000;
  gate_.probe_rows = 6000;
  board_.set_gate(gate_);
  EXPECT_EQ(said(), list{});

  four.state = engine::verdict_state::tripped;
  four.reason = "audit";
  four.evidence = "/evidence/1";
  gate_.serves = engine::rung::batched;
  gate_.audit.shortfall = true;
  board_.set_gate(gate_);
  const auto lines = said();
  ASSERT_EQ(lines.size(), 3U);
  EXPECT_EQ(lines[0].find("error: gate: blocks of 4 rows: "), 0U) << lines[0];
  EXPECT_NE(lines[0].find("; evidence: /evidence/1"), std::string::npos);
  EXPECT_EQ(lines[1], "warning: gate: serves 'batched' from now on");
  EXPECT_EQ(lines[2].find("warning: audit: "), 0U);
}

TEST_F(SpeculationNews, AStoredVerdictIsToldAtTheStart) {
  gate_.verdicts.batch.state = engine::verdict_state::diverges;
  gate_.verdicts.batch.source = engine::verdict_source::stored;
  board_.set_gate(gate_);
  const auto lines = said();
  ASSERT_EQ(lines.size(), 2U);
  EXPECT_EQ(lines[1].find("warning: gate: many sequences a step: "), 0U);
  EXPECT_NE(lines[1].find("(stored)"), std::string::npos);
}

}  // namespace
}  // namespace vouch::runtime
