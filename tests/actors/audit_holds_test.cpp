// What GATE makes of holds that SCHEDULER had to drop.

#include <gtest/gtest.h>

#include "actors/gate.hpp"
#include "tests/actors/world.hpp"

namespace vouch::actors {
namespace {

engine::audit_record record_with(std::uint64_t hold) {
  engine::audit_record made;
  made.hold = hold;
  made.kind = engine::row_kind::decode;
  made.position = 3;
  made.rows = 1;
  made.tokens = {1, 2, 3, 4};
  made.logits_hashes = {1};
  made.logits_states = {engine::logits_state::sound};
  made.blocks = {0};
  return made;
}

/// Memory ran short between a step's end and the next plan: the record comes
/// in one report with the news that its blocks are gone. They hold another
/// sequence's rows by then, so it must not be compared with what they hold.
TEST(AuditHolds, AreGivenUpWhereTheyWereDroppedInTheSameReport) {
  test::world all;
  gate_setup setup;
  setup.options.enabled = false;
  setup.options.audit.share = 1.0;
  setup.options.probe.setup.vocabulary = 256;
  setup.options.probe.setup.limits.slots = 4;
  setup.options.probe.setup.limits.blocks = 64;
  setup.options.probe.setup.limits.context = 512;
  setup.options.probe.setup.limits.step_rows = 64;
  auto notices = std::make_shared<board>();
  const auto gate = all.system.spawn(gate_behavior, setup, notices,
                                     std::make_shared<metrics>());
  caf::scoped_actor scheduler{all.system, true};
  scheduler->send(gate, start_atom_v);
  const auto asked = [&] {
    all.run();
    bool any = false;
    bool more = true;
    while (more) {
      scheduler->receive(
          [&](loan_request&) { any = true; }, [](engine::gate_view&) {},
          caf::after(std::chrono::seconds{0}) >> [&] { more = false; });
    }
    return any;
  };
  served_report report;
  report.seconds = 1.0;
  report.audited.push_back(record_with(7));
  report.dropped = {7};
  scheduler->send(gate, report);
  EXPECT_FALSE(asked());
  ASSERT_TRUE(notices->speculation().gate);
  EXPECT_EQ(notices->speculation().gate->audit.dropped, 1);
  // One that is still held is replayed.
  report.audited = {record_with(8)};
  report.dropped = {};
  scheduler->send(gate, report);
  EXPECT_TRUE(asked());
}

}  // namespace
}  // namespace vouch::actors
