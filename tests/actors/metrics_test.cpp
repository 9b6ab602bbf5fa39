#include "actors/metrics.hpp"

#include <gtest/gtest.h>

#include "actors/request_times.hpp"

namespace vouch::actors {
namespace {

TEST(Metrics, AllNamesAreThereFromTheStart) {
  metrics counted;
  counted.set_build_info("0.1", "cpu", "f");
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
        "vouch_step_rows_bucket"}) {
    EXPECT_NE(text.find(std::string{"\n"} + name), std::string::npos) << name;
  }
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
