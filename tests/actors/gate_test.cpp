// The probe through the actors: verdicts come while requests are served.

#include <algorithm>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "tests/actors/gate_world.hpp"

namespace vouch::actors {
namespace {

using engine::decline_reason;
using test::classic_text;
using test::expect_all_memory_back;
using test::expect_text;
using test::gate_case;
using test::gate_of;
using test::is_gates;
using test::open_widths;
using test::report_of;
using test::small_device;
using test::text_request;
using test::world;

class Gate : public testing::Test {
 protected:
  test::temporary_folder folder;
  gate_case one{folder.path()};
};

TEST_F(Gate, OpensWidthByWidthWhileRequestsAreServed) {
  world all{{}, small_device(), one.adjust()};
  all.alter = test::take_time;
  std::vector<std::set<int>> seen{{}};
  std::vector<std::pair<std::string, std::set<int>>> asked;
  // There is always a request, so the probe has its share and no more.
  for (int i = 0; i < 20'000 && gate_of(all).probing; ++i) {
    if (all.counters->stats().running == 0) {
      asked.emplace_back("r" + std::to_string(asked.size()), open_widths(all));
      all.submit(text_request(asked.back().first, "hello", 40));
      all.run();
    }
    ASSERT_TRUE(all.finish_step());
    const auto now = open_widths(all);
    if (now != seen.back()) seen.push_back(now);
  }
  all.run_to_end();
  const std::vector<std::set<int>> order{{}, {4}, {2, 4}, {2, 3, 4}};
  EXPECT_EQ(seen, order);
  EXPECT_EQ(gate_of(all).verdict, "equal");
  ASSERT_GT(asked.size(), 3U);
  for (const auto& [id, open] : asked) {
    expect_text(all, id, "hello", 40);
    const auto report = report_of(all, id);
    if (!open.empty()) {
      EXPECT_GT(report.rounds, 0) << id;
    }
  }
  EXPECT_EQ(report_of(all, "r0").rounds, 0);
  EXPECT_EQ(report_of(all, "r0").declined, decline_reason::gate_not_run);
  EXPECT_FALSE(report_of(all, "r0").vouched);
  all.submit(text_request("last", "hello", 40));
  all.run_to_end();
  EXPECT_GT(report_of(all, "last").rounds, 0);
  EXPECT_EQ(report_of(all, "last").verdict, "equal");
  EXPECT_TRUE(report_of(all, "last").vouched);
  expect_all_memory_back(all);
  EXPECT_TRUE(one.warnings->empty()) << one.warnings->front();
}

TEST_F(Gate, StoredVerdictsOpenAtOnceAndAnotherScopeDoesNot) {
  {
    world all{{}, small_device(), one.adjust()};
    EXPECT_TRUE(open_widths(all).empty());
    all.run_to_end();
    EXPECT_EQ(open_widths(all), (std::set<int>{2, 3, 4}));
  }
  {
    world all{{}, small_device(), one.adjust()};
    EXPECT_EQ(open_widths(all), (std::set<int>{2, 3, 4}));
    EXPECT_FALSE(gate_of(all).probing);
    EXPECT_EQ(all.device()->steps_held(), 0U);
    EXPECT_EQ(gate_of(all).verdicts.widths.at(4).source,
              engine::verdict_source::stored);
    all.submit(text_request("a", "hello", 40));
    all.run_to_end();
    EXPECT_GT(report_of(all, "a").rounds, 0);
    EXPECT_TRUE(report_of(all, "a").vouched);
  }
  one.model = "another";
  world all{{}, small_device(), one.adjust()};
  EXPECT_TRUE(open_widths(all).empty());
  EXPECT_TRUE(gate_of(all).probing);
  EXPECT_EQ(all.device()->steps_held(), 1U);
}

TEST_F(Gate, WhoeverArrivesDuringAUnitWaitsForThatOneAlone) {
  for (int units = 0; units < 60; ++units) {
    gate_case alone{folder.path() / std::to_string(units)};
    world all{{}, small_device(), alone.adjust()};
    all.alter = test::take_time;
    for (int i = 0; i < units; ++i) ASSERT_TRUE(all.finish_step());
    ASSERT_EQ(all.device()->steps_held(), 1U);
    ASSERT_TRUE(is_gates(all.device()->oldest()));
    all.submit(text_request("a", "hello", 10));
    all.run();
    ASSERT_EQ(all.device()->steps_held(), 2U);
    EXPECT_FALSE(is_gates(all.device()->newest()));
    int behind = 0;
    while (all.see("a").terminals == 0) {
      behind = is_gates(all.device()->oldest()) ? behind + 1 : 0;
      ASSERT_LE(behind, 1) << units;
      ASSERT_TRUE(all.finish_step());
    }
    expect_text(all, "a", "hello", 10);
  }
}

TEST_F(Gate, LoansComeBackWhereMemoryIsShort) {
  engine::policy rules;
  rules.limits.max_running = 8;
  for (const std::int64_t blocks : {36, 40, 48, 64}) {
    gate_case alone{folder.path() / std::to_string(blocks)};
    auto device = small_device(blocks);
    device.limits.context = 256;
    world all{rules, device, alone.adjust()};
    all.alter = test::take_time;
    int sent = 0;
    for (int i = 0; i < 400; ++i) {
      if (i % 20 == 0) {
        const auto letter = static_cast<char>('a' + sent % 20);
        all.submit(
            text_request(std::to_string(sent), std::string(100, letter), 60));
        ++sent;
        all.run();
      }
      all.finish_step();
    }
    all.run_to_end();
    for (int i = 0; i < sent; ++i) {
      EXPECT_EQ(all.see(std::to_string(i)).end.completion_tokens, 60)
          << blocks << " " << i;
    }
    EXPECT_FALSE(gate_of(all).probing) << blocks;
    EXPECT_EQ(open_widths(all), (std::set<int>{2, 3, 4})) << blocks;
    expect_all_memory_back(all);
  }
}

TEST_F(Gate, AGateThatDiesIsReplacedAndMeasures) {
  for (const int units : {0, 1, 7, 50, 51, 200}) {
    gate_case alone{folder.path() / std::to_string(units)};
    world all{{}, small_device(), alone.adjust()};
    all.alter = test::take_time;
    for (int i = 0; i < units; ++i) ASSERT_TRUE(all.finish_step());
    all.submit(text_request("a", "hello", 40));
    all.run();
    all.finish_step();
    all.finish_step();
    const auto dead = all.inside().gate.address();
    all.kill(all.inside().gate);
    EXPECT_NE(all.inside().gate.address(), dead);
    EXPECT_FALSE(all.see("a").failed);
    all.run_to_end();
    expect_text(all, "a", "hello", 40);
    EXPECT_EQ(open_widths(all), (std::set<int>{2, 3, 4})) << units;
    for (const auto& [width, each] : gate_of(all).verdicts.widths) {
      EXPECT_TRUE(each.equal()) << units << " " << width << " " << each.reason;
    }
    all.submit(text_request("b", "hello", 40));
    all.run_to_end();
    expect_text(all, "b", "hello", 40);
    EXPECT_GT(report_of(all, "b").rounds, 0) << units;
    expect_all_memory_back(all);
    EXPECT_EQ(all.devices_made, 1);
  }
}

TEST_F(Gate, AGateThatKeepsDyingLeavesClassicService) {
  one.audit_share = 0.0;
  world all{{}, small_device(), one.adjust()};
  all.run_to_end();
  for (int i = 0; i < 6; ++i) {
    ASSERT_TRUE(all.inside().gate);
    all.kill(all.inside().gate);
  }
  EXPECT_FALSE(all.inside().gate);
  all.submit(text_request("a", "hello", 40));
  all.run_to_end();
  expect_text(all, "a", "hello", 40);
  EXPECT_EQ(report_of(all, "a").rounds, 0);
  EXPECT_EQ(report_of(all, "a").declined, decline_reason::gate_not_run);
  EXPECT_FALSE(report_of(all, "a").vouched);
  expect_all_memory_back(all);
}

TEST_F(Gate, ADrafterThatDiesIsReplaced) {
  world all{{}, small_device(), one.adjust()};
  all.run_to_end();
  for (int i = 0; i < 5; ++i) {
    const auto id = std::to_string(i);
    all.submit(text_request(id, "hello", 60));
    all.run();
    all.finish_step();
    all.finish_step();
    const auto dead = all.inside().drafter.address();
    all.kill(all.inside().drafter);
    ASSERT_TRUE(all.inside().drafter);
    EXPECT_NE(all.inside().drafter.address(), dead);
    all.run_to_end();
    expect_text(all, id, "hello", 60);
    EXPECT_GT(report_of(all, id).rounds, 5) << i;
  }
  all.kill(all.inside().drafter);
  EXPECT_FALSE(all.inside().drafter);
  all.submit(text_request("last", "hello", 60));
  all.run_to_end();
  expect_text(all, "last", "hello", 60);
  EXPECT_EQ(report_of(all, "last").rounds, 0);
  EXPECT_EQ(report_of(all, "last").declined, decline_reason::no_drafter);
  expect_all_memory_back(all);
}

TEST_F(Gate, OtherRulesAreMeasuredAnew) {
  world all{{}, small_device(), one.adjust()};
  all.run_to_end();
  const auto before = gate_of(all);
  ASSERT_EQ(before.verdict, "equal");
  all.submit(text_request("a", "hello", 200));
  all.run();
  for (int i = 0; i < 10; ++i) all.finish_step();

  // What is no part of the scope changes nothing.
  engine::policy rules;
  rules.limits.max_queued_requests += 1;
  auto same = all.inside().gate.address();
  caf::anon_send(all.supervisor, policy_change{rules});
  all.run();
  EXPECT_EQ(all.inside().gate.address(), same);

  rules.prefill.chunk_tokens = 48;
  caf::anon_send(all.supervisor, policy_change{rules});
  all.run();
  EXPECT_NE(all.inside().gate.address(), same);
  auto now = gate_of(all);
  EXPECT_NE(now.id, before.id);
  EXPECT_EQ(now.scope.chunk, 48);
  EXPECT_TRUE(open_widths(all).empty());
  all.run_to_end();
  expect_text(all, "a", "hello", 200);
  EXPECT_FALSE(report_of(all, "a").vouched);
  EXPECT_EQ(gate_of(all).verdict, "equal");

  // Back again: that was stored.
  caf::anon_send(all.supervisor, policy_change{{}});
  all.run();
  EXPECT_EQ(gate_of(all).id, before.id);
  EXPECT_EQ(open_widths(all), (std::set<int>{2, 3, 4}));
  EXPECT_EQ(all.device()->steps_held(), 0U);
  EXPECT_TRUE(one.warnings->empty());
  expect_all_memory_back(all);
}

TEST_F(Gate, AnEscapeIsMarked) {
  one.allow_inexact = true;
  world all{{}, small_device(), one.adjust()};
  all.submit(text_request("a", "hello", 40));
  all.run();
  while (all.see("a").terminals == 0) ASSERT_TRUE(all.finish_step());
  ASSERT_TRUE(gate_of(all).probing);
  expect_text(all, "a", "hello", 40);
  const auto report = report_of(all, "a");
  EXPECT_GT(report.rounds, 0);
  EXPECT_TRUE(report.inexact);
  EXPECT_FALSE(report.vouched);
  EXPECT_EQ(report.verdict, "allow_inexact");
  // When all of it is measured as equal, nothing is inexact any more.
  all.run_to_end();
  all.submit(text_request("b", "hello", 40));
  all.run_to_end();
  EXPECT_GT(report_of(all, "b").rounds, 0);
  EXPECT_FALSE(report_of(all, "b").inexact);
  EXPECT_TRUE(report_of(all, "b").vouched);
  EXPECT_EQ(report_of(all, "b").verdict, "equal");
}

TEST_F(Gate, WithoutAProbeNothingIsVouchedFor) {
  one.enabled = false;
  world all{{}, small_device(), one.adjust()};
  EXPECT_EQ(all.device()->steps_held(), 0U);
  all.submit(text_request("a", "hello", 40));
  all.submit(text_request("b", "hello", 40));
  all.run_to_end();
  expect_text(all, "a", "hello", 40);
  EXPECT_LT(all.counters->stats().steps, 50U);  // together
  EXPECT_EQ(report_of(all, "a").rounds, 0);
  EXPECT_EQ(report_of(all, "a").declined, decline_reason::gate_not_run);
  EXPECT_FALSE(report_of(all, "a").vouched);
  EXPECT_FALSE(std::filesystem::exists(one.verdicts));
}

}  // namespace
}  // namespace vouch::actors
