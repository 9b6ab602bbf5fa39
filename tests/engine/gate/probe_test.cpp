#include "engine/gate/probe.hpp"

#include <algorithm>

#include "tests/engine/gate/gate_fixture.hpp"

namespace vouch::engine {
namespace {

TEST_F(gate_test, ProbeFindsASoundModelEqualEverywhere) {
  start();
  probe p{small_probe()};
  run(p);
  EXPECT_TRUE(p.done());
  const auto& v = p.verdicts();
  EXPECT_TRUE(v.alone.equal()) << text_of(p);
  EXPECT_TRUE(v.batch.equal()) << text_of(p);
  EXPECT_EQ(v.widths.size(), 3U);
  for (const auto& [width, each] : v.widths) {
    EXPECT_TRUE(each.equal()) << text_of(p);
    EXPECT_EQ(each.positions, 128) << width;
    EXPECT_GT(each.rows, 64) << width;
    EXPECT_EQ(each.when_ms, 1000);
  }
  EXPECT_EQ(v.lowest_allowed(), rung::burst);
}

TEST_F(gate_test, ProbeRunsWhatItClaims) {
  start();
  probe p{small_probe()};
  run(p);
  std::int64_t preempted = 0;
  std::int64_t hits = 0;
  for (const auto& line : p.lines()) {
    EXPECT_EQ(line.showed_nothing, "") << text_of(p);
    preempted += line.preemptions;
    hits += line.cache_hits;
    const bool of_width = line.covers.size() == 1;
    if (!of_width || line.patterns == "classic") continue;
    EXPECT_GT(line.tally.rounds, 0) << line.scenario;
    EXPECT_GT(line.tally.accepted, 0) << line.scenario;
    EXPECT_EQ(line.tally.rejected == 0, line.patterns == "all")
        << line.scenario;
  }
  EXPECT_GE(preempted, 4);
  EXPECT_GE(hits, 6);
  const auto& by = p.by_pattern();
  EXPECT_EQ(by.at(draft_pattern::none).accepted, 0);
  EXPECT_EQ(by.at(draft_pattern::all).rejected, 0);
  for (const auto pattern :
       {draft_pattern::alternating, draft_pattern::mixed}) {
    EXPECT_GT(by.at(pattern).accepted, 0);
    EXPECT_GT(by.at(pattern).rejected, 0);
  }
  EXPECT_GT(p.total().rows, 2000);
  EXPECT_GT(p.total().kv_rows, 4000);
}

TEST_F(gate_test, ProbeOpensBatchFirstThenWidthByWidth) {
  start();
  probe p{small_probe()};
  std::vector<std::string> opened;
  const auto look = [&](const char* name, const verdict& each) {
    const auto known = std::find(opened.begin(), opened.end(), name);
    if (each.equal() && known == opened.end()) opened.emplace_back(name);
  };
  while (!p.done()) {
    run(p, 1);
    look("alone", p.verdicts().alone);
    look("batch", p.verdicts().batch);
    look("2", p.verdicts().widths.at(2));
    look("3", p.verdicts().widths.at(3));
    look("4", p.verdicts().widths.at(4));
  }
  EXPECT_EQ(opened,
            (std::vector<std::string>{"alone", "batch", "2", "4", "3"}));
}

TEST_F(gate_test, ProbeRaisesPositionsInStages) {
  start();
  auto options = small_probe();
  options.last_positions = 0;
  probe p{options};
  std::vector<std::int64_t> seen;
  while (!p.done()) {
    run(p, 1);
    const auto now = p.verdicts().widths.at(4).positions;
    if (seen.empty() || seen.back() != now) seen.push_back(now);
  }
  ASSERT_EQ(seen.size(), 4U) << text_of(p);
  EXPECT_EQ(seen[1], 128);
  EXPECT_EQ(seen[2], 256);
  // Behind the last block of this width only narrower ones fit.
  EXPECT_GE(seen[3], context - 4);
  EXPECT_LT(seen[3], context);
  EXPECT_TRUE(p.verdicts().alone.equal());
  EXPECT_TRUE(p.verdicts().batch.equal());
}

TEST_F(gate_test, ProbeIsTheSameEveryTime) {
  start();
  probe one{small_probe()};
  probe other{small_probe()};
  run(one);
  run(other);
  EXPECT_EQ(one.verdicts(), other.verdicts());
  EXPECT_EQ(one.total().kv_rows, other.total().kv_rows);
}

TEST_F(gate_test, ProbeGivesItsMemoryBackWhenAsked) {
  start();
  probe p{small_probe()};
  for (int i = 0; i < 5; ++i) {
    run(p, 30 + 60 * i);
    ASSERT_FALSE(p.done());
    ASSERT_FALSE(p.need());
    p.withdraw();
    std::optional<loan> back;
    int units = 0;
    while (!back) {
      auto unit = p.next();
      ASSERT_TRUE(unit);
      p.take(run_unit(*device, std::move(*unit)), 1);
      back = p.give_back();
      ASSERT_LE(++units, 2);
    }
    EXPECT_TRUE(p.need());
    EXPECT_FALSE(p.next());
  }
  run(p);
  EXPECT_EQ(p.verdicts().lowest_allowed(), rung::burst) << text_of(p);
  EXPECT_TRUE(p.verdicts().widths.at(3).equal());
}

/// Whatever fits into whatever pool, sequences are preempted.
TEST_F(gate_test, ProbePreemptsUnderAnySizes) {
  start();
  for (const std::int64_t walk : {16, 32, 100}) {
    for (const std::size_t length : {3U, 30U, 90U}) {
      auto options = small_probe();
      options.walk = walk;
      for (int i = 0; i < 5; ++i) {
        probe_prompt prompt;
        for (std::size_t t = 0; t < length; ++t) {
          prompt.tokens.push_back(static_cast<token_id>((t * 7 + 3) % 200));
        }
        options.prompts.push_back(std::move(prompt));
      }
      probe p{options};
      run(p);
      EXPECT_TRUE(p.verdicts().batch.equal()) << text_of(p);
      for (const auto& [width, each] : p.verdicts().widths) {
        EXPECT_TRUE(each.equal()) << text_of(p);
      }
    }
  }
}

TEST_F(gate_test, ProbeWithoutWidthsVouchesForBatching) {
  start();
  auto options = small_probe();
  options.widths.clear();
  probe p{options};
  run(p);
  EXPECT_TRUE(p.verdicts().batch.equal());
  EXPECT_TRUE(p.verdicts().widths.empty());
}

TEST_F(gate_test, ProbeDrawsScenariosUntilSoManyRows) {
  start();
  auto options = small_probe();
  options.random_rows = 20'000;
  options.widths = {2, 3, 4, 8, 16};
  probe p{options};
  run(p);
  EXPECT_GE(p.total().rows, 20'000);
  for (const auto& [width, each] : p.verdicts().widths) {
    EXPECT_TRUE(each.equal()) << text_of(p);
  }
  for (const auto pattern :
       {draft_pattern::random, draft_pattern::lookup, draft_pattern::classic}) {
    EXPECT_GT(p.by_pattern().at(pattern).rows, 500) << name_of(pattern);
  }
}

}  // namespace
}  // namespace vouch::engine
