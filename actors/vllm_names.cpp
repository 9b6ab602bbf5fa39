#include "actors/vllm_names.hpp"

#include <string_view>

namespace vouch::actors {
namespace {

struct alias {
  std::string_view own;
  std::string_view theirs;
};

/// One of ours may have several of theirs: names changed between versions.
constexpr alias aliases[] = {
    {"num_requests_running", "num_requests_running"},
    {"num_requests_waiting", "num_requests_waiting"},
    {"kv_cache_usage_ratio", "kv_cache_usage_perc"},
    {"kv_cache_usage_ratio", "gpu_cache_usage_perc"},
    {"prefix_cache_queries_total", "prefix_cache_queries_total"},
    {"prefix_cache_hits_total", "prefix_cache_hits_total"},
    {"num_preemptions_total", "num_preemptions_total"},
    {"prompt_tokens_total", "prompt_tokens_total"},
    {"generation_tokens_total", "generation_tokens_total"},
    {"request_success_total", "request_success_total"},
    {"time_to_first_token_seconds", "time_to_first_token_seconds"},
    {"inter_token_latency_seconds", "inter_token_latency_seconds"},
    // The older name of the same measure: observed once a token.
    {"inter_token_latency_seconds", "time_per_output_token_seconds"},
    {"time_per_output_token_seconds", "request_time_per_output_token_seconds"},
    {"e2e_request_latency_seconds", "e2e_request_latency_seconds"},
    {"request_queue_time_seconds", "request_queue_time_seconds"},
    {"request_prefill_time_seconds", "request_prefill_time_seconds"},
    {"request_decode_time_seconds", "request_decode_time_seconds"},
    {"speculation_rounds_total", "spec_decode_num_drafts_total"},
    {"speculation_draft_tokens_total", "spec_decode_num_draft_tokens_total"},
    {"speculation_accepted_tokens_total",
     "spec_decode_num_accepted_tokens_total"},
    {"speculation_accepted_tokens_per_pos_total",
     "spec_decode_num_accepted_tokens_per_pos_total"},
};

/// Our blocks have a width; theirs are one number.
void sum_widths(prometheus::MetricFamily& family) {
  prometheus::ClientMetric sum;
  for (const auto& metric : family.metric) {
    sum.counter.value += metric.counter.value;
  }
  family.metric = {sum};
}

prometheus::MetricFamily renamed(const prometheus::MetricFamily& own,
                                 std::string_view name,
                                 const std::string& model_name) {
  auto family = own;
  family.name = "vllm:" + std::string{name};
  if (name == "spec_decode_num_drafts_total") {
    sum_widths(family);
  }
  for (auto& metric : family.metric) {
    for (auto& label : metric.label) {
      if (label.name == "finish_reason") {
        label.name = "finished_reason";
      }
    }
    metric.label.push_back({"model_name", model_name});
    metric.label.push_back({"engine", "0"});
  }
  return family;
}

}  // namespace

void add_vllm_names(std::vector<prometheus::MetricFamily>& families,
                    const std::string& model_name) {
  const auto own = families.size();
  for (const auto& [ours, theirs] : aliases) {
    const auto wanted = "vouch_" + std::string{ours};
    for (std::size_t i = 0; i < own; ++i) {
      if (families[i].name == wanted) {
        families.push_back(renamed(families[i], theirs, model_name));
      }
    }
  }
}

}  // namespace vouch::actors
