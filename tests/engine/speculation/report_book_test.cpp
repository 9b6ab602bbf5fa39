#include "engine/speculation/report_book.hpp"

#include <gtest/gtest.h>

namespace vouch::engine {
namespace {

gate_view open_gate() {
  gate_view view;
  view.rules.widths = width_set::up_to(4);
  view.verdict = "equal";
  view.scope = "abc";
  view.vouched_positions = 100;
  return view;
}

sequence_update update_of(sequence_id id, std::size_t tokens) {
  sequence_update u;
  u.id = id;
  u.tokens.resize(tokens);
  return u;
}

round_report round_of(std::size_t drafts, int accepted) {
  round_report r;
  r.drafts.resize(drafts);
  r.picks.resize(drafts + 1);
  r.outcome.accepted_emitted = accepted;
  return r;
}

TEST(ReportBook, SumsRoundsAndGivesTheReportWithTheLastUpdate) {
  report_book book;
  book.set_gate(open_gate());
  book.open(1, true, 10);
  auto first = update_of(1, 3);
  first.rounds = {round_of(3, 2)};
  EXPECT_FALSE(book.take(first).has_value());
  // A choice may end by its text, and no last update come.
  ASSERT_TRUE(first.speculation.has_value());
  EXPECT_EQ(first.speculation->drafted, 3);
  EXPECT_TRUE(first.speculation->vouched);
  auto classic = update_of(1, 1);
  classic.rounds = {round_of(0, 0)};
  EXPECT_FALSE(book.take(classic).has_value());
  EXPECT_FALSE(classic.speculation.has_value());
  book.audited(1, 3);
  auto last = update_of(1, 1);
  last.rounds = {round_of(0, 0)};
  last.finished = true;
  EXPECT_FALSE(book.take(last).has_value());
  ASSERT_TRUE(last.speculation.has_value());
  EXPECT_EQ(last.speculation->rounds, 1);
  EXPECT_EQ(last.speculation->width, 4);
  EXPECT_EQ(last.speculation->drafted, 3);
  EXPECT_EQ(last.speculation->accepted, 2);
  EXPECT_EQ(last.speculation->audited, 3);
  EXPECT_EQ(last.speculation->verdict, "equal");
  EXPECT_EQ(last.speculation->scope, "abc");
  EXPECT_TRUE(last.speculation->vouched);
  EXPECT_FALSE(last.speculation->declined.has_value());
}

std::optional<decline_reason> reason_of(report_book& book, bool wants) {
  book.open(7, wants, 10);
  book.unprofitable(7);
  auto last = update_of(7, 1);
  last.finished = true;
  const auto told = book.take(last);
  EXPECT_EQ(told, last.speculation->declined);
  return told;
}

TEST(ReportBook, NamesTheFirstReasonThatHolds) {
  report_book book;
  auto view = open_gate();
  book.set_gate(view);
  EXPECT_EQ(reason_of(book, true), decline_reason::unprofitable);
  view.closed = decline_reason::gate_diverges;
  book.set_gate(view);
  EXPECT_EQ(reason_of(book, true), decline_reason::gate_diverges);
  book.set_no_drafter(decline{decline_reason::drafter_mismatch, "other words"});
  EXPECT_EQ(reason_of(book, true), decline_reason::drafter_mismatch);
  EXPECT_EQ(reason_of(book, false), decline_reason::request_opt_out);
}

TEST(ReportBook, DoesNotVouchPastWhatWasProbed) {
  report_book book;
  book.set_gate(open_gate());
  book.open(1, true, 99);
  auto update = update_of(1, 2);
  update.finished = true;
  book.take(update);
  EXPECT_FALSE(update.speculation->vouched);
}

TEST(ReportBook, MarksEscapesAndTrips) {
  report_book book;
  auto view = open_gate();
  view.rules.inexact = true;
  view.verdict = "allow_inexact";
  book.set_gate(view);
  book.open(1, true, 5);
  book.open(2, true, 5);
  auto inexact = update_of(1, 1);
  inexact.rounds = {round_of(1, 0)};
  inexact.finished = true;
  book.take(inexact);
  EXPECT_TRUE(inexact.speculation->inexact);
  EXPECT_FALSE(inexact.speculation->vouched);
  EXPECT_EQ(inexact.speculation->verdict, "allow_inexact");

  book.set_gate(open_gate());
  book.trip();
  auto touched = update_of(2, 1);
  touched.finished = true;
  book.take(touched);
  EXPECT_EQ(touched.speculation->verdict, "tripped");
  EXPECT_FALSE(touched.speculation->vouched);
}

}  // namespace
}  // namespace vouch::engine
