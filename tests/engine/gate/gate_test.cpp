#include "engine/gate/gate.hpp"

#include <algorithm>

#include "tests/engine/gate/gate_fixture.hpp"
#include "tests/engine/gate/server.hpp"

namespace vouch::engine {
namespace {

verdict_table all_equal(std::int64_t positions) {
  verdict each;
  each.state = verdict_state::equal;
  each.rows = 100;
  each.positions = positions;
  each.source = verdict_source::stored;
  verdict_table table;
  table.alone = table.batch = each;
  for (const int width : {2, 3, 4}) table.widths[width] = each;
  return table;
}

class served_gate : public gate_test {
 protected:
  gate_options options() const {
    gate_options made;
    made.probe = small_probe();
    // Steps of a small model cost next to nothing; so that a test sees audits.
    made.audit.share = 0.5;
    made.audit.chunk = 64;
    return made;
  }
  policy rules() const { return small_probe().setup.rules; }
  void add_some(small_server& server, int n, std::int64_t tokens) const {
    for (int i = 0; i < n; ++i) {
      std::vector<token_id> prompt;
      for (int t = 0; t < 20 + 7 * i; ++t) prompt.push_back((t * 5 + i) % 200);
      sampling_params sampling;
      sampling.temperature = i % 2 == 0 ? 0.0F : 1.0F;
      sampling.seed = static_cast<std::uint64_t>(i);
      server.add(std::move(prompt), tokens,
                 i % 3 == 0 ? draft_pattern::lookup : draft_pattern::random,
                 sampling);
    }
  }
};

TEST_F(served_gate, OpensWhileItServes) {
  start();
  gate judge{{}, std::nullopt, options()};
  EXPECT_EQ(judge.serves(), rung::batched);
  EXPECT_EQ(judge.decline_of(4)->reason, decline_reason::gate_not_run);
  EXPECT_TRUE(judge.rules().widths.empty());
  EXPECT_TRUE(judge.rules().batched);
  small_server server{*device, judge, rules()};
  add_some(server, 6, 60);
  server.rest();
  EXPECT_EQ(judge.serves(), rung::burst);
  EXPECT_EQ(judge.rules().widths, (width_set{2, 3, 4}));
  EXPECT_EQ(judge.rules().positions, 128);
  EXPECT_EQ(judge.decline_of(4), std::nullopt);
  EXPECT_EQ(judge.decline_of(0), std::nullopt);
  EXPECT_EQ(judge.decline_of(5)->reason, decline_reason::gate_not_run);
  EXPECT_EQ(server.tripped, 0);
  EXPECT_TRUE(server.errors.empty());
  EXPECT_FALSE(judge.has_work());
  const auto now = judge.snapshot();
  EXPECT_EQ(now.verdict, "equal");
  EXPECT_FALSE(now.probing);
  EXPECT_GT(now.probe_rows, 1000);
  EXPECT_EQ(now.vouched_positions, 128);
  // And then bursts run, and are audited.
  add_some(server, 6, 60);
  server.rest();
  EXPECT_GT(server.verify_rows(), 50);
  const auto later = judge.snapshot();
  const auto& rows = later.audit.rows;
  for (int kind = 0; kind < audit_kinds; ++kind) {
    const auto& of = rows[static_cast<std::size_t>(kind)];
    EXPECT_GT(of[0], 0) << name_of(static_cast<audit_kind>(kind));
    EXPECT_EQ(of[1], 0);
  }
  EXPECT_EQ(later.trips, 0);
}

TEST_F(served_gate, ALoanThatFitsNobodyComesBack) {
  start();
  gate judge{{}, std::nullopt, options()};
  const auto need = judge.need();
  ASSERT_TRUE(need);
  gate_need small = *need;
  small.blocks = 1;
  judge.lend(loan_of(small));
  EXPECT_TRUE(judge.need());
  EXPECT_FALSE(judge.next_unit());
  ASSERT_TRUE(judge.give_back());
  EXPECT_FALSE(judge.give_back());
  judge.lend(loan_of(*need));
  EXPECT_FALSE(judge.need());
  EXPECT_TRUE(judge.next_unit());
}

TEST_F(served_gate, StoredVerdictsServeAtOnce) {
  start();
  gate judge{{}, all_equal(128), options()};
  EXPECT_EQ(judge.serves(), rung::burst);
  EXPECT_EQ(judge.rules().positions, 128);
  EXPECT_FALSE(judge.has_work());
  EXPECT_FALSE(judge.need());
}

TEST_F(served_gate, StoredVerdictsLeaveTheRestToMeasure) {
  start();
  auto known = all_equal(128);
  known.widths.erase(3);
  gate judge{{}, known, options()};
  EXPECT_EQ(judge.rules().widths, (width_set{2, 4}));
  small_server server{*device, judge, rules()};
  server.rest();
  EXPECT_EQ(judge.rules().widths, (width_set{2, 3, 4}));
  for (const auto& line : judge.probed().lines()) {
    EXPECT_TRUE(line.covers.empty() || line.covers == "3") << line.covers;
  }
  EXPECT_EQ(judge.verdicts().widths.at(3).source, verdict_source::measured);
  EXPECT_EQ(judge.verdicts().widths.at(2).source, verdict_source::stored);
}

TEST_F(served_gate, AStoredTripIsNotMeasuredAway) {
  start();
  auto known = all_equal(128);
  known.widths[4].state = verdict_state::tripped;
  known.batch.state = verdict_state::tripped;
  gate judge{{}, known, options()};
  small_server server{*device, judge, rules()};
  add_some(server, 3, 20);
  server.rest();
  EXPECT_EQ(judge.serves(), rung::alone);
  EXPECT_FALSE(judge.rules().batched);
  EXPECT_TRUE(judge.rules().widths.empty());
  EXPECT_EQ(judge.decline_of(4)->reason, decline_reason::gate_tripped);
  EXPECT_EQ(judge.decline_of(2)->reason, decline_reason::gate_tripped);
  EXPECT_EQ(server.verify_rows(), 0);
}

TEST_F(served_gate, StoredDivergencesAreMeasuredAnew) {
  start();
  auto known = all_equal(128);
  known.widths[2].state = verdict_state::diverges;
  gate judge{{}, known, options()};
  small_server server{*device, judge, rules()};
  server.rest();
  EXPECT_TRUE(judge.verdicts().widths.at(2).equal());
}

TEST_F(served_gate, EscapesAreMarked) {
  start();
  auto made = options();
  made.allow_inexact = true;
  gate judge{{}, std::nullopt, made};
  EXPECT_EQ(judge.serves(), rung::burst);
  EXPECT_TRUE(judge.rules().inexact);
  EXPECT_EQ(judge.rules().widths, (width_set{2, 3, 4}));
  EXPECT_EQ(judge.rules().positions, context);
  EXPECT_EQ(judge.decline_of(4), std::nullopt);
  EXPECT_EQ(judge.snapshot().verdict, "allow_inexact");
  EXPECT_EQ(judge.snapshot().vouched_positions, 0);
  // Where everything is vouched for it is no escape.
  gate sound{{}, all_equal(context), made};
  EXPECT_FALSE(sound.rules().inexact);
  EXPECT_EQ(sound.snapshot().verdict, "equal");
}

TEST_F(served_gate, SwitchedOffItServesClassicallyAndVouchesForNothing) {
  start();
  auto made = options();
  made.enabled = false;
  gate judge{{}, std::nullopt, made};
  EXPECT_TRUE(judge.rules().batched);
  EXPECT_TRUE(judge.rules().widths.empty());
  EXPECT_FALSE(judge.has_work());
  EXPECT_EQ(judge.decline_of(2)->reason, decline_reason::gate_not_run);
  EXPECT_EQ(judge.snapshot().vouched_positions, 0);
  // The escape is for whatever the gate declines.
  made.allow_inexact = true;
  gate escaped{{}, std::nullopt, made};
  EXPECT_EQ(escaped.rules().widths, (width_set{2, 3, 4}));
  EXPECT_TRUE(escaped.rules().inexact);
  EXPECT_FALSE(escaped.has_work());
  EXPECT_EQ(escaped.decline_of(2), std::nullopt);
  EXPECT_EQ(escaped.snapshot().verdict, "allow_inexact");
  EXPECT_EQ(escaped.snapshot().vouched_positions, 0);
}

TEST_F(served_gate, UnconstrainedKernelsKeepTheirBatches) {
  start("op=logits items>=2 ulp=1 element=3");
  auto made = options();
  made.unconstrained = true;
  gate judge{{}, std::nullopt, made};
  small_server server{*device, judge, rules()};
  server.rest();
  EXPECT_EQ(judge.verdicts().batch.state, verdict_state::diverges);
  EXPECT_EQ(judge.verdicts().widths.at(2).state, verdict_state::diverges);
  EXPECT_EQ(judge.serves(), rung::batched);
  EXPECT_TRUE(judge.rules().batched);
  EXPECT_EQ(judge.snapshot().verdict, "fast");
}

/// A fault that begins after start-up, and only beside other rows.
TEST_F(served_gate, ALateFaultTripsTheAudit) {
  start();
  gate judge{{}, all_equal(128), options()};
  small_server server{*device, judge, rules()};
  device->set_faults(std::make_shared<const fault_plan>(fault_plan::parse(
      "op=logits mixed_rows>=3 after_step=40 ulp=1 element=11")));
  add_some(server, 8, 60);
  server.run();
  ASSERT_GT(server.tripped, 0);
  const auto trip = std::find_if(
      server.events.begin(), server.events.end(), [](const auto& event) {
        return event.what == gate_event::kind::tripped;
      });
  ASSERT_TRUE(trip->evidence);
  const auto& found = trip->evidence->finding;
  EXPECT_GT(found.first->position, 0);
  EXPECT_NE(found.first->where.find("logits"), std::string::npos);
  EXPECT_TRUE(found.record.work);
  EXPECT_TRUE(trip->table.widths.at(2).tripped());
  EXPECT_TRUE(trip->table.widths.at(4).tripped());
  EXPECT_TRUE(trip->evidence->before.widths.at(4).equal());
  // The rest of the ladder goes by what else is found.
  EXPECT_GE(judge.serves(), rung::batched);
  EXPECT_TRUE(judge.rules().widths.empty());
  EXPECT_EQ(judge.decline_of(2)->reason, decline_reason::gate_tripped);
  server.rest();
  EXPECT_TRUE(judge.verdicts().batch.wrong());
  EXPECT_EQ(judge.serves(), rung::alone);
  EXPECT_FALSE(judge.rules().batched);
  EXPECT_GE(judge.snapshot().trips, 1);
  EXPECT_EQ(server.schedule().stats().running, 0);
}

/// Where an escape lets differences through, they are counted.
TEST_F(served_gate, AnEscapeIsNotTripped) {
  start("op=logits phase=verify ulp=1 element=11");
  auto made = options();
  made.allow_inexact = true;
  gate judge{{}, std::nullopt, made};
  small_server server{*device, judge, rules()};
  add_some(server, 6, 60);
  server.rest();
  add_some(server, 6, 60);
  server.rest();
  EXPECT_EQ(server.tripped, 0);
  EXPECT_GT(server.verify_rows(), 50);
  const auto now = judge.snapshot();
  EXPECT_GT(now.audit.rows[3][1], 0);
  EXPECT_EQ(now.trips, 0);
  EXPECT_EQ(now.verdict, "allow_inexact");
  EXPECT_EQ(now.verdicts.widths.at(2).state, verdict_state::diverges);
}

TEST_F(served_gate, ATripByHandClosesFromThereOn) {
  start();
  gate judge{{}, all_equal(128), options()};
  EXPECT_TRUE(judge.trip(rung::batched, "by hand", {5, 0, -1, -1, "kv"}, 77));
  EXPECT_EQ(judge.serves(), rung::alone);
  judge.set_evidence("/somewhere");
  EXPECT_EQ(judge.verdicts().batch.evidence, "/somewhere");
  EXPECT_EQ(judge.verdicts().batch.when_ms, 77);
  EXPECT_FALSE(judge.trip(rung::burst, "late", {5, 0, -1, -1, "kv"}, 78));
  EXPECT_TRUE(judge.trip(rung::alone, "again", {5, 0, -1, -1, "kv"}, 78));
  EXPECT_EQ(judge.serves(), rung::unvouched);
  EXPECT_EQ(judge.take_events().size(), 2U);
  EXPECT_TRUE(judge.take_events().empty());
}

}  // namespace
}  // namespace vouch::engine
