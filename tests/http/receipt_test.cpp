#include "http/receipt.hpp"

#include <string>
#include <vector>

#include <boost/json.hpp>
#include <gtest/gtest.h>

#include "http/answer.hpp"

namespace vouch::http {
namespace {

namespace json = boost::json;

engine::speculation_report speculated() {
  engine::speculation_report report;
  report.verdict = "equal";
  report.scope = "00ff";
  report.vouched = true;
  report.count_round(8, 5);
  report.count_round(4, 0);
  report.audited = 6;
  return report;
}

engine::speculation_report declined() {
  engine::speculation_report report;
  report.verdict = "tripped";
  report.scope = "00ff";
  report.declined = engine::decline_reason::gate_tripped;
  report.detail = "row 7";
  return report;
}

const std::string speculated_json =
    R"("verdict":"equal","vouched":true,"inexact":false,"scope":"00ff",)"
    R"("width":8,"rounds":2,"drafted":10,"accepted":5,"rejected":5,)"
    R"("audited":6,"declined":null)";
const std::string declined_json =
    R"("verdict":"tripped","vouched":false,"inexact":false,"scope":"00ff",)"
    R"("width":1,"rounds":0,"drafted":0,"accepted":0,"rejected":0,)"
    R"("audited":0,"declined":"gate_tripped","detail":"row 7")";

receipt promised() {
  receipt out;
  out.verdict = "equal";
  out.vouched = true;
  out.scope = "00ff";
  out.audit = true;
  return out;
}

generation_job job_of(bool report, int n = 1, bool stream = false) {
  generation_job job;
  job.kind = generation_kind::chat;
  job.n = n;
  job.stream = stream;
  actors::generation_request request;
  request.id = "r0";
  request.speculation.report = report;
  job.requests.push_back(request);
  return job;
}

/// An answer whose choices ended with these reports.
answer played(const generation_job& job,
              const std::vector<engine::speculation_report>& reports,
              const receipt& at_start = promised()) {
  answer it{job, {"id-1", 1, "tiny", "fp"}, [](engine::token_id) {
              return std::string{"x"};
            }};
  it.begin(at_start);
  it.apply(actors::started{"r0", 5, 42, 16});
  int choice = 0;
  for (const auto& report : reports) {
    actors::tokens event;
    event.id = "r0";
    event.choice = choice++;
    event.text = "a";
    event.finish_reason = "stop";
    event.speculation = report;
    it.apply(event);
  }
  it.apply(actors::finished{"r0", 5, 3, 2});
  return it;
}

/// The chunks of a stream as JSON, without its end.
std::vector<json::value> chunks(const std::string& stream) {
  std::vector<json::value> out;
  for (std::size_t at = stream.find("data: {"); at != std::string::npos;
       at = stream.find("data: {", at + 1)) {
    out.push_back(
        json::parse(stream.substr(at + 6, stream.find("\n\n", at) - at - 6)));
  }
  return out;
}

TEST(receipt, says_what_stands_behind_an_answer) {
  EXPECT_EQ(header_value({}),
            "verdict=not_run; vouched=no; scope=none; audit=off");
  EXPECT_EQ(header_value(promised()),
            "verdict=equal; vouched=yes; scope=00ff; audit=on");
  auto escaped = promised();
  escaped.verdict = "allow_inexact";
  escaped.vouched = false;
  escaped.inexact = true;
  escaped.audited = 3;
  EXPECT_EQ(header_value(escaped),
            "verdict=allow_inexact; vouched=no; scope=00ff; audit=on; "
            "inexact=yes; audited=3");
}

TEST(receipt, one_choice_that_is_not_vouched_for_marks_all) {
  const auto good = speculated();
  const auto bad = declined();
  const auto both = merged({{0, &good}, {1, &bad}});
  EXPECT_EQ(both.verdict, "tripped");
  EXPECT_FALSE(both.vouched);
  EXPECT_EQ(both.declined, engine::decline_reason::gate_tripped);
  EXPECT_EQ(both.drafted, 10);
  EXPECT_EQ(both.audited, 6);
  EXPECT_EQ(header_value(settled(promised(), {{0, &good}, {1, &bad}})),
            "verdict=tripped; vouched=no; scope=00ff; audit=on; audited=6");
  EXPECT_EQ(header_value(settled(promised(), {{0, &good}})),
            "verdict=equal; vouched=yes; scope=00ff; audit=on; audited=6");
  EXPECT_EQ(header_value(settled(promised(), {})), header_value(promised()));
}

TEST(receipt, an_answer_reports_when_asked) {
  const auto body =
      json::parse(played(job_of(true), {speculated()}).body()).as_object();
  EXPECT_EQ(json::serialize(body.at("speculation")),
            "{" + speculated_json + "}");
  EXPECT_FALSE(json::parse(played(job_of(false), {speculated()}).body())
                   .as_object()
                   .contains("speculation"));
  const auto silent = played(job_of(true), {});
  EXPECT_EQ(json::parse(silent.body()).at("speculation").at("verdict"),
            "equal");
}

TEST(receipt, several_choices_are_reported_each_and_together) {
  const auto it = played(job_of(true, 2), {speculated(), declined()});
  const auto report = json::parse(it.body()).at("speculation").as_object();
  EXPECT_EQ(report.at("verdict"), "tripped");
  EXPECT_EQ(report.at("drafted"), 10);
  EXPECT_EQ(json::serialize(report.at("choices")),
            "[{" + speculated_json + R"(,"index":0},{)" + declined_json +
                R"(,"index":1}])");
  EXPECT_EQ(it.final_receipt().verdict, "tripped");
}

TEST(receipt, usage_counts_drafts_whether_asked_or_not) {
  const auto it = played(job_of(false), {speculated()});
  EXPECT_EQ(json::serialize(json::parse(it.body()).at("usage").at(
                "completion_tokens_details")),
            R"({"accepted_prediction_tokens":5,)"
            R"("rejected_prediction_tokens":5})");
  EXPECT_EQ(it.drafted_tokens(), 10);
  EXPECT_EQ(it.accepted_tokens(), 5);
}

TEST(receipt, a_stream_reports_with_the_last_choice_to_end) {
  auto it = played(job_of(true, 2, true), {speculated(), speculated()});
  const auto all = chunks(it.take_stream());
  ASSERT_EQ(all.size(), 6U);
  for (std::size_t i = 0; i + 1 < all.size(); ++i)
    EXPECT_FALSE(all[i].as_object().contains("speculation")) << i;
  const auto& last = all.back().as_object();
  EXPECT_EQ(last.at("choices").at(0).at("finish_reason"), "stop");
  EXPECT_EQ(last.at("speculation").at("drafted"), 20);
  EXPECT_EQ(last.at("speculation").at("choices").as_array().size(), 2U);
}

TEST(receipt, a_stream_with_usage_reports_there) {
  auto job = job_of(true, 1, true);
  job.include_usage = true;
  auto it = played(job, {speculated()});
  const auto all = chunks(it.take_stream());
  ASSERT_EQ(all.size(), 4U);
  EXPECT_TRUE(all.back().at("choices").as_array().empty());
  EXPECT_EQ(json::serialize(all.back().at("speculation")),
            "{" + speculated_json + "}");
  EXPECT_FALSE(all[2].as_object().contains("speculation"));
}

TEST(receipt, a_completion_stream_reports_in_its_last_chunk) {
  auto job = job_of(true, 1, true);
  job.kind = generation_kind::completion;
  auto it = played(job, {speculated()});
  const auto all = chunks(it.take_stream());
  ASSERT_EQ(all.size(), 1U);
  EXPECT_EQ(all[0].at("speculation").at("accepted"), 5);
}

// The header said "vouched" and a trip came after it.
TEST(receipt, a_broken_promise_is_told_unasked) {
  auto it = played(job_of(false, 1, true), {declined()});
  const auto all = chunks(it.take_stream());
  ASSERT_FALSE(all.empty());
  EXPECT_EQ(json::serialize(all.back().at("speculation")),
            "{" + declined_json + "}");
  // Nothing was promised, or it was kept: nothing is said.
  for (auto* kept : {"promised", "not promised"}) {
    SCOPED_TRACE(kept);
    const bool promise = std::string{kept} == "promised";
    auto quiet =
        played(job_of(false, 1, true), {promise ? speculated() : declined()},
               promise ? promised() : receipt{});
    for (const auto& chunk : chunks(quiet.take_stream()))
      EXPECT_FALSE(chunk.as_object().contains("speculation"));
  }
}

}  // namespace
}  // namespace vouch::http
