#include "actors/metrics.hpp"

#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "actors/request_times.hpp"

namespace vouch::actors {
namespace {

TEST(Metrics, AllNamesAreThereFromTheStart) {
  metrics counted;
  counted.set_build_info("0.1", "cpu", "f", "m");
  const auto text = counted.text();
  for (const char* name :
       {"vouch_build_info{",
        "vouch_config_generation ",
        "vouch_num_requests_running ",
        "vouch_num_requests_waiting ",
        "vouch_kv_cache_usage_ratio ",
        "vouch_prefix_cache_queries_total ",
        "vouch_prefix_cache_hits_total ",
        "vouch_num_preemptions_total ",
        "vouch_prompt_tokens_total ",
        "vouch_generation_tokens_total ",
        "vouch_request_success_total{finish_reason=\"stop\"} ",
        "vouch_request_success_total{finish_reason=\"length\"} ",
        "vouch_rejections_total{reason=\"queue_full\"} ",
        "vouch_time_to_first_token_seconds_bucket",
        "vouch_inter_token_latency_seconds_bucket",
        "vouch_time_per_output_token_seconds_bucket",
        "vouch_e2e_request_latency_seconds_bucket",
        "vouch_request_queue_time_seconds_bucket",
        "vouch_request_prefill_time_seconds_bucket",
        "vouch_request_decode_time_seconds_bucket",
        "vouch_step_rows_bucket",
        "vouch_speculation_draft_tokens_total ",
        "vouch_speculation_accepted_tokens_total ",
        "vouch_speculation_emitted_tokens_total ",
        "vouch_draft_seconds_total "}) {
    EXPECT_NE(text.find(std::string{"\n"} + name), std::string::npos) << name;
  }
}

TEST(Metrics, CountsDeclinesByEveryReasonFromTheStart) {
  metrics counted;
  counted.speculation().declined(engine::decline_reason::unprofitable);
  const auto text = counted.text();
  for (const char* line :
       {"no_drafter\"} 0\n", "drafter_mismatch\"} 0\n", "gate_diverges\"} 0\n",
        "gate_not_run\"} 0\n", "gate_tripped\"} 0\n", "request_opt_out\"} 0\n",
        "load\"} 0\n", "unprofitable\"} 1\n", "unsupported_sampling\"} 0\n"}) {
    EXPECT_NE(
        text.find(std::string{"\nvouch_speculation_declines_total{reason=\""} +
                  line),
        std::string::npos)
        << line;
  }
}

engine::round_report round_of(std::size_t drafts, int accepted_emitted,
                              std::size_t emitted) {
  engine::round_report report;
  report.drafts.resize(drafts);
  report.outcome.accepted = accepted_emitted;
  report.outcome.accepted_emitted = accepted_emitted;
  report.outcome.emitted.resize(emitted);
  return report;
}

TEST(Metrics, CountsRounds) {
  metrics counted;
  counted.set_build_info("1", "cpu", "f", "smol");
  counted.use_vllm_names(true);
  counted.speculation().round(round_of(3, 2, 3));
  counted.speculation().round(round_of(3, 0, 1));
  counted.speculation().round(round_of(7, 1, 1));  // cut behind the draft
  counted.speculation().round(round_of(0, 0, 1));  // classic
  counted.speculation().drafted(0.25);
  counted.speculation().drafted(0.5);
  const auto text = counted.text();
  const std::string labels = "model_name=\"smol\",engine=\"0\"} ";
  const std::vector<std::string> lines{
      "vouch_speculation_rounds_total{width=\"4\"} 2\n",
      "vouch_speculation_rounds_total{width=\"8\"} 1\n",
      "vouch_speculation_draft_tokens_total 13\n",
      "vouch_speculation_accepted_tokens_total 3\n",
      "vouch_speculation_emitted_tokens_total 5\n",
      "vouch_speculation_accepted_tokens_per_pos_total{position=\"0\"} 2\n",
      "vouch_speculation_accepted_tokens_per_pos_total{position=\"1\"} 1\n",
      "vouch_draft_seconds_total 0.75\n",
      "vllm:spec_decode_num_drafts_total{" + labels + "3\n",
      "vllm:spec_decode_num_draft_tokens_total{" + labels + "13\n",
      "vllm:spec_decode_num_accepted_tokens_total{" + labels + "3\n",
      "vllm:spec_decode_num_accepted_tokens_per_pos_total{position=\"1\"," +
          labels + "1\n"};
  for (const auto& line : lines) {
    EXPECT_NE(text.find("\n" + line), std::string::npos) << line << text;
  }
}

TEST(Metrics, ShowsTheGateAndCountsItsWork) {
  metrics counted;
  EXPECT_NE(counted.text().find("\nvouch_audit_rows_total{kind=\"burst\","
                                "result=\"differs\"} 0\n"),
            std::string::npos);
  engine::gate_snapshot gate;
  gate.serves = engine::rung::burst;
  gate.verdicts.batch.state = engine::verdict_state::equal;
  gate.verdicts.widths[4].state = engine::verdict_state::tripped;
  gate.verdicts.widths[8].state = engine::verdict_state::not_run;
  gate.probe_rows = 100;
  gate.trips = 1;
  gate.audit.rows[3][1] = 1;
  gate.audit.rows[2][0] = 5;
  gate.audit.dropped = 2;
  gate.audit.seconds = 0.5;
  counted.speculation().gate(gate);
  gate.probe_rows = 150;
  counted.speculation().gate(gate);
  // A gate that starts anew counts from zero.
  gate.probe_rows = 30;
  counted.speculation().gate(gate);
  const auto text = counted.text();
  for (const char* line :
       {"vouch_gate_verdict{width=\"alone\"} 0\n",
        "vouch_gate_verdict{width=\"batch\"} 1\n",
        "vouch_gate_verdict{width=\"4\"} -1\n",
        "vouch_gate_verdict{width=\"8\"} 0\n",
        "vouch_gate_rung{rung=\"burst\"} 1\n",
        "vouch_gate_rung{rung=\"alone\"} 0\n",
        "vouch_gate_probe_rows_total 180\n", "vouch_gate_trips_total 1\n",
        "vouch_audit_rows_total{kind=\"burst\",result=\"differs\"} 1\n",
        "vouch_audit_rows_total{kind=\"classic\",result=\"equal\"} 5\n",
        "vouch_audit_dropped_total 2\n", "vouch_audit_seconds_total 0.5\n"}) {
    EXPECT_NE(text.find(std::string{"\n"} + line), std::string::npos)
        << line << text;
  }
}

TEST(Metrics, ShowsWhatStepsCost) {
  metrics counted;
  engine::step_cost_model costs{{{1, 0.25}}, {{1, 0.5}}, 2};
  counted.publish(costs);
  for (const char* line :
       {"vouch_step_seconds_model{logits=\"none\",rows=\"1\"} 0.25\n",
        "vouch_step_seconds_model{logits=\"all\",rows=\"1\"} 0.5\n",
        "vouch_step_seconds_model{logits=\"all\",rows=\"2\"} 1\n"}) {
    EXPECT_NE(counted.text().find(line), std::string::npos) << counted.text();
  }
  costs.observe(1, 1, 0.4);
  counted.publish(costs);
  EXPECT_EQ(counted.text().find("rows=\"1\"} 0.5\n"), std::string::npos);
}

TEST(Metrics, ShowsVllmsNamesWhenAsked) {
  metrics counted;
  counted.set_build_info("1", "cpu", "f", "smol");
  engine::scheduler_stats stats;
  stats.running = 3;
  stats.generation_tokens = 5;
  stats.total_blocks = 10;
  stats.free_blocks = 5;
  counted.publish(stats);
  counted.choice_ended("stop");
  counted.inter_token_latency(0.004);
  counted.time_per_output_token(0.5);
  EXPECT_EQ(counted.text().find("vllm:"), std::string::npos);
  counted.use_vllm_names(true);
  const auto text = counted.text();
  const std::string labels = "model_name=\"smol\",engine=\"0\"} ";
  const std::vector<std::string> lines{
      "# TYPE vllm:num_requests_running gauge\n",
      "vllm:num_requests_running{" + labels + "3\n",
      "vllm:num_requests_waiting{" + labels + "0\n",
      "vllm:kv_cache_usage_perc{" + labels + "0.5\n",
      "vllm:gpu_cache_usage_perc{" + labels + "0.5\n",
      "# TYPE vllm:generation_tokens_total counter\n",
      "vllm:generation_tokens_total{" + labels + "5\n",
      "vllm:prompt_tokens_total{" + labels + "0\n",
      "vllm:prefix_cache_queries_total{" + labels + "0\n",
      "vllm:prefix_cache_hits_total{" + labels + "0\n",
      "vllm:num_preemptions_total{" + labels + "0\n",
      "vllm:request_success_total{finished_reason=\"stop\"," + labels + "1\n",
      "vllm:time_to_first_token_seconds_count{" + labels + "0\n",
      "vllm:inter_token_latency_seconds_sum{" + labels + "0.004\n",
      "vllm:time_per_output_token_seconds_sum{" + labels + "0.004\n",
      "vllm:request_time_per_output_token_seconds_sum{" + labels + "0.5\n",
      "vllm:e2e_request_latency_seconds_count{" + labels + "0\n"};
  for (const auto& line : lines) {
    EXPECT_NE(text.find("\n" + line), std::string::npos) << line;
  }
  EXPECT_NE(text.find("\nvouch_num_requests_running 3\n"), std::string::npos);
}

TEST(Metrics, CountersGoOnWhenTheSchedulerStartsAnew) {
  metrics counted;
  engine::scheduler_stats stats;
  stats.generation_tokens = 5;
  stats.total_blocks = 10;
  stats.free_blocks = 5;
  counted.publish(stats);
  counted.publish(stats);
  EXPECT_NE(counted.text().find("vouch_generation_tokens_total 5"),
            std::string::npos);
  EXPECT_NE(counted.text().find("vouch_kv_cache_usage_ratio 0.5"),
            std::string::npos);
  counted.scheduler_restarted();
  stats.generation_tokens = 2;
  counted.publish(stats);
  EXPECT_NE(counted.text().find("vouch_generation_tokens_total 7"),
            std::string::npos);
}

TEST(Metrics, NoTimeInTheQueueIsNegative) {
  const auto counted = std::make_shared<metrics>();
  request_times times{counted, 1000.2};
  times.submitted(1000.5);
  times.started(1);
  times.admitted(1000);  // whole milliseconds: cut
  times.emitted(0, 1, 1001.5);
  const auto text = counted->text();
  EXPECT_NE(text.find("\nvouch_request_queue_time_seconds_sum 0\n"),
            std::string::npos);
  EXPECT_NE(text.find("\nvouch_request_prefill_time_seconds_sum 0.001\n"),
            std::string::npos);
}

}  // namespace
}  // namespace vouch::actors
