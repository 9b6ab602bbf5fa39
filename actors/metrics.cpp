#include "actors/metrics.hpp"

#include <mutex>
#include <string>

#include <prometheus/counter.h>
#include <prometheus/gauge.h>
#include <prometheus/histogram.h>
#include <prometheus/registry.h>
#include <prometheus/text_serializer.h>

#include "actors/vllm_names.hpp"

namespace vouch::actors {
namespace {

using prometheus::Counter;
using prometheus::Family;
using prometheus::Gauge;
using prometheus::Histogram;

using buckets = Histogram::BucketBoundaries;

/// From a cached prompt on a fast device to a long queue on a slow one.
const buckets request_seconds{0.005, 0.01, 0.025, 0.05, 0.1,  0.25,
                              0.5,   1.0,  2.5,   5.0,  10.0, 20.0,
                              40.0,  80.0, 160.0, 320.0};
const buckets token_seconds{0.001, 0.0025, 0.005, 0.0075, 0.01, 0.015,
                            0.02,  0.03,   0.05,  0.075,  0.1,  0.2,
                            0.5,   1.0,    2.5,   5.0};
const buckets step_row_counts{1,  2,   4,   8,   16,   32,
                              64, 128, 256, 512, 1024, 2048};

std::string_view name_of(failure why) {
  switch (why) {
    case failure::invalid:
      return "invalid";
    case failure::context_length:
      return "context_length";
    case failure::queue_full:
      return "queue_full";
    case failure::unavailable:
      return "unavailable";
    case failure::timeout:
      return "timeout";
    case failure::internal:
      return "internal";
    case failure::cancelled:
      return "cancelled";
  }
  return "internal";
}

}  // namespace

struct metrics::impl {
  std::shared_ptr<prometheus::Registry> registry =
      std::make_shared<prometheus::Registry>();

  Gauge& gauge(const char* name, const char* help) {
    return prometheus::BuildGauge()
        .Name(std::string{"vouch_"} + name)
        .Help(help)
        .Register(*registry)
        .Add({});
  }
  Family<Counter>& counters(const char* name, const char* help) {
    return prometheus::BuildCounter()
        .Name(std::string{"vouch_"} + name)
        .Help(help)
        .Register(*registry);
  }
  Counter& counter(const char* name, const char* help) {
    return counters(name, help).Add({});
  }
  Histogram& histogram(const char* name, const char* help,
                       const buckets& bounds) {
    return prometheus::BuildHistogram()
        .Name(std::string{"vouch_"} + name)
        .Help(help)
        .Register(*registry)
        .Add({}, bounds);
  }

  Family<Gauge>& build_info =
      prometheus::BuildGauge()
          .Name("vouch_build_info")
          .Help("The program and the model it serves; always 1.")
          .Register(*registry);
  Gauge& config_generation =
      gauge("config_generation", "How often a policy has been taken over.");
  Gauge& running = gauge("num_requests_running", "Sequences that hold a slot.");
  Gauge& waiting = gauge("num_requests_waiting", "Sequences in the queue.");
  Gauge& cache_usage =
      gauge("kv_cache_usage_ratio", "Share of the KV blocks in use, 0 to 1.");
  Counter& prefix_queries =
      counter("prefix_cache_queries_total",
              "Prompt tokens (not blocks or requests) looked up in the "
              "prefix cache, once a request.");
  Counter& prefix_hits =
      counter("prefix_cache_hits_total",
              "Prompt tokens found in the prefix cache, once a "
              "request.");
  Counter& preemptions = counter("num_preemptions_total",
                                 "Sequences sent back to the queue for want "
                                 "of KV blocks.");
  Counter& prompt_tokens = counter("prompt_tokens_total",
                                   "Prompt tokens of admitted requests, once a "
                                   "request.");
  Counter& generation_tokens =
      counter("generation_tokens_total", "Tokens generated.");
  Counter& steps = counter("steps_total", "Steps planned.");
  Counter& prefill_rows =
      counter("prefill_rows_total", "Prompt rows that steps carried.");
  Counter& decode_rows =
      counter("decode_rows_total", "Decode rows that steps carried.");
  Counter& decode_steps = counter(
      "decode_steps_total",
      "Steps with a decode row; decode_rows_total by it is the mean batch.");
  Family<Counter>& success =
      counters("request_success_total", "Choices that ended, by reason.");
  Family<Counter>& rejections =
      counters("rejections_total",
               "Requests that ended before admission or timed out "
               "before any token, by reason.");
  Histogram& ttft = histogram("time_to_first_token_seconds",
                              "From a request's arrival to its first token.",
                              request_seconds);
  Histogram& itl = histogram("inter_token_latency_seconds",
                             "Between two tokens of a choice.", token_seconds);
  Histogram& tpot = histogram("time_per_output_token_seconds",
                              "A choice's decode time by its tokens after "
                              "the first.",
                              token_seconds);
  Histogram& e2e =
      histogram("e2e_request_latency_seconds",
                "From a request's arrival to its end.", request_seconds);
  Histogram& queue =
      histogram("request_queue_time_seconds",
                "From submission to the first slot.", request_seconds);
  Histogram& prefill =
      histogram("request_prefill_time_seconds",
                "From the first slot to the first token.", request_seconds);
  Histogram& decode =
      histogram("request_decode_time_seconds",
                "From the first token to the last.", request_seconds);
  Histogram& step_rows = histogram(
      "step_rows", "Rows of a step: prefill and decode.", step_row_counts);
  Histogram& step_time =
      histogram("step_seconds", "Time of a step on its device.", token_seconds);

  Family<Gauge>& model_seconds =
      prometheus::BuildGauge()
          .Name("vouch_step_seconds_model")
          .Help(
              "What a step of so many rows is thought to take, with logits on "
              "all of them or on none: measured at the start, then learned.")
          .Register(*registry);

  speculation_metrics speculation{*registry};

  mutable std::mutex mutex;
  // Guarded by mutex: what was published last, and what of it is counted.
  engine::scheduler_stats now;
  Gauge* info = nullptr;
  bool vllm_names = false;
  std::string model_name;
};

metrics::metrics() : impl_(std::make_unique<impl>()) {
  // Label values exist from the start, so that rates begin at zero.
  for (const auto* reason : {"stop", "length", "abort", "error"}) {
    impl_->success.Add({{"finish_reason", reason}});
  }
  for (const auto why :
       {failure::invalid, failure::context_length, failure::queue_full,
        failure::unavailable, failure::timeout, failure::internal,
        failure::cancelled}) {
    impl_->rejections.Add({{"reason", std::string{name_of(why)}}});
  }
}

metrics::~metrics() = default;

void metrics::set_build_info(const std::string& version,
                             const std::string& backend,
                             const std::string& fingerprint,
                             const std::string& model_name) {
  const std::lock_guard lock{impl_->mutex};
  impl_->model_name = model_name;
  if (impl_->info) {
    impl_->build_info.Remove(impl_->info);
  }
  impl_->info = &impl_->build_info.Add({{"version", version},
                                        {"backend", backend},
                                        {"fingerprint", fingerprint}});
  impl_->info->Set(1);
}

void metrics::use_vllm_names(bool yes) {
  const std::lock_guard lock{impl_->mutex};
  impl_->vllm_names = yes;
}

void metrics::policy_loaded() { impl_->config_generation.Increment(); }

void metrics::publish(const engine::scheduler_stats& stats) {
  const std::lock_guard lock{impl_->mutex};
  const auto grow = [](Counter& counter, std::uint64_t from, std::uint64_t to) {
    counter.Increment(static_cast<double>(to - from));
  };
  const auto& last = impl_->now;
  grow(impl_->prefix_queries, last.prefix_queries, stats.prefix_queries);
  grow(impl_->prefix_hits, last.prefix_hits, stats.prefix_hits);
  grow(impl_->preemptions, last.preemptions, stats.preemptions);
  grow(impl_->prompt_tokens, last.prompt_tokens, stats.prompt_tokens);
  grow(impl_->generation_tokens, last.generation_tokens,
       stats.generation_tokens);
  grow(impl_->steps, last.steps, stats.steps);
  grow(impl_->prefill_rows, last.prefill_rows, stats.prefill_rows);
  grow(impl_->decode_rows, last.decode_rows, stats.decode_rows);
  grow(impl_->decode_steps, last.decode_steps, stats.decode_steps);
  impl_->running.Set(static_cast<double>(stats.running));
  impl_->waiting.Set(static_cast<double>(stats.waiting));
  if (stats.total_blocks > 0) {
    const auto used =
        stats.total_blocks - stats.free_blocks - stats.cached_blocks;
    impl_->cache_usage.Set(static_cast<double>(used) /
                           static_cast<double>(stats.total_blocks));
  }
  impl_->now = stats;
}

void metrics::publish(const engine::step_cost_model& costs) {
  for (const auto rows : costs.row_counts()) {
    for (const bool logits : {false, true}) {
      impl_->model_seconds
          .Add({{"rows", std::to_string(rows)},
                {"logits", logits ? "all" : "none"}})
          .Set(costs.seconds(rows, logits ? rows : 0));
    }
  }
}

engine::scheduler_stats metrics::stats() const {
  const std::lock_guard lock{impl_->mutex};
  return impl_->now;
}

void metrics::scheduler_restarted() {
  const std::lock_guard lock{impl_->mutex};
  impl_->now = {};
}

void metrics::step(std::int64_t rows, double seconds) {
  impl_->step_rows.Observe(static_cast<double>(rows));
  impl_->step_time.Observe(seconds);
}

void metrics::rejected(failure why) {
  impl_->rejections.Add({{"reason", std::string{name_of(why)}}}).Increment();
}

void metrics::choice_ended(std::string_view finish_reason) {
  impl_->success.Add({{"finish_reason", std::string{finish_reason}}})
      .Increment();
}

void metrics::queue_time(double seconds) { impl_->queue.Observe(seconds); }
void metrics::prefill_time(double seconds) { impl_->prefill.Observe(seconds); }
void metrics::decode_time(double seconds) { impl_->decode.Observe(seconds); }
void metrics::time_to_first_token(double seconds) {
  impl_->ttft.Observe(seconds);
}
void metrics::inter_token_latency(double seconds) {
  impl_->itl.Observe(seconds);
}
void metrics::time_per_output_token(double seconds) {
  impl_->tpot.Observe(seconds);
}
void metrics::request_latency(double seconds) { impl_->e2e.Observe(seconds); }

speculation_metrics& metrics::speculation() { return impl_->speculation; }

std::string metrics::text() const {
  auto families = impl_->registry->Collect();
  const std::lock_guard lock{impl_->mutex};
  if (impl_->vllm_names) {
    add_vllm_names(families, impl_->model_name);
  }
  return prometheus::TextSerializer{}.Serialize(families);
}

}  // namespace vouch::actors
