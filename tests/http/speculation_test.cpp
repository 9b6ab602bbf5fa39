#include "http/speculation.hpp"

#include <memory>
#include <string>

#include <boost/json.hpp>
#include <gtest/gtest.h>

namespace vouch::http {
namespace {

namespace json = boost::json;

engine::gate_snapshot open_gate() {
  engine::gate_snapshot gate;
  gate.scope.model = "m1";
  gate.scope.taps = {1, 5};
  gate.id = "00ff";
  gate.verdict = "equal";
  gate.vouched_positions = 1024;
  gate.serves = engine::rung::burst;
  auto& four = gate.verdicts.widths[4];
  four.state = engine::verdict_state::equal;
  four.rows = 5312;
  four.positions = 1024;
  four.source = engine::verdict_source::stored;
  gate.verdicts.widths[8].reason = "the probe is at width 6";
  gate.probing = true;
  gate.probe_rows = 7000;
  gate.audit.share = 0.01;
  gate.audit.rows[3][0] = 12;
  gate.audit.dropped = 2;
  return gate;
}

engine::speculation_status lookup() {
  engine::speculation_status status;
  status.drafter = "lookup";
  status.kind = engine::drafter_kind::lookup;
  status.width = 8;
  status.prior = "lookup, *, *";
  status.decided_by = "sequence";
  status.acceptance[0] = {0.5, 0.25};
  return status;
}

actors::speculation_view view_of(const engine::speculation_status& status,
                                 const engine::gate_snapshot& gate) {
  return {std::make_shared<const engine::speculation_status>(status),
          std::make_shared<const engine::gate_snapshot>(gate)};
}

TEST(speculation, shows_nothing_before_the_start) {
  EXPECT_EQ(json::serialize(speculation_object({})),
            R"({"verdict":"not_run","vouched":false,"rung":null,)"
            R"("declined":null,"vouched_positions":0,"trips":0,)"
            R"("scope":null,"verdicts":null,"probe":null,"audit":null,)"
            R"("drafter":null,"escapes":null,"controller":null})");
}

TEST(speculation, shows_an_open_gate) {
  const auto all = speculation_object(view_of(lookup(), open_gate()));
  EXPECT_EQ(all.at("verdict"), "equal");
  EXPECT_EQ(all.at("vouched"), true);
  EXPECT_EQ(all.at("rung"), "burst");
  EXPECT_EQ(all.at("vouched_positions"), 1024);
  EXPECT_EQ(all.at("scope").at("id"), "00ff");
  EXPECT_EQ(all.at("scope").at("model"), "m1");
  EXPECT_EQ(json::serialize(all.at("scope").at("taps")), "[1,5]");
  const auto& widths = all.at("verdicts").at("widths");
  EXPECT_EQ(widths.at("4").at("state"), "equal");
  EXPECT_EQ(widths.at("4").at("rows"), 5312);
  EXPECT_EQ(widths.at("4").at("source"), "stored");
  EXPECT_EQ(widths.at("8").at("state"), "not_run");
  EXPECT_EQ(json::serialize(all.at("probe")),
            R"({"running":true,"rows":7000,"kv_rows":0,"seconds":0E0})");
  EXPECT_EQ(all.at("audit").at("rows").at("burst").at("equal"), 12);
  EXPECT_EQ(all.at("audit").at("rows").at("prefill").at("differs"), 0);
  EXPECT_EQ(all.at("audit").at("dropped"), 2);
  EXPECT_EQ(json::serialize(all.at("drafter")),
            R"({"name":"lookup","kind":"lookup","width":8,"declined":null})");
  EXPECT_EQ(json::serialize(all.at("controller").at("acceptance")),
            "[[5E-1,2.5E-1],[],[],[]]");
  EXPECT_EQ(all.at("controller").at("decided_by"), "sequence");
}

TEST(speculation, tells_a_shortfall_of_the_audit) {
  auto gate = open_gate();
  gate.audit.shortfall = true;
  EXPECT_EQ(speculation_object(view_of(lookup(), gate)).at("verdict"),
            "equal, unaudited");
}

TEST(speculation, tells_why_nothing_is_drafted) {
  auto status = lookup();
  status.kind.reset();
  status.declined = engine::decline{engine::decline_reason::drafter_mismatch,
                                    "vocabulary 9, the model's is 10"};
  auto gate = open_gate();
  gate.closed = engine::decline{engine::decline_reason::gate_not_run, ""};
  const auto all = speculation_object(view_of(status, gate));
  EXPECT_EQ(json::serialize(all.at("drafter").at("declined")),
            R"({"reason":"drafter_mismatch",)"
            R"("detail":"vocabulary 9, the model's is 10"})");
  EXPECT_TRUE(all.at("drafter").at("kind").is_null());
  EXPECT_EQ(all.at("declined").at("reason"), "gate_not_run");
}

TEST(speculation, a_receipt_follows_gate_and_escapes) {
  EXPECT_EQ(header_value(receipt_of({})),
            "verdict=not_run; vouched=no; scope=none; audit=off");
  EXPECT_EQ(header_value(receipt_of(view_of(lookup(), open_gate()))),
            "verdict=equal; vouched=yes; scope=00ff; audit=on");
  auto closed = open_gate();
  closed.verdict = "tripped";
  closed.vouched_positions = 0;
  closed.audit.share = 0.0;
  EXPECT_EQ(header_value(receipt_of(view_of(lookup(), closed))),
            "verdict=tripped; vouched=no; scope=00ff; audit=off");
  for (const auto* escape : {"allow_inexact", "fast"}) {
    auto gate = open_gate();
    gate.verdict = escape;
    EXPECT_EQ(header_value(receipt_of(view_of(lookup(), gate))),
              std::string{"verdict="} + escape +
                  "; vouched=no; scope=00ff; audit=on; inexact=yes");
  }
  // Allowed, but everything is vouched for.
  auto status = lookup();
  status.allow_inexact = true;
  const auto view = view_of(status, open_gate());
  EXPECT_TRUE(receipt_of(view).vouched);
  EXPECT_FALSE(receipt_of(view).inexact);
  EXPECT_EQ(speculation_object(view).at("escapes").at("allow_inexact"), true);
  EXPECT_TRUE(receipt_of({view.status, nullptr}).inexact);
}

}  // namespace
}  // namespace vouch::http
