#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "actors/messages.hpp"
#include "actors/speculation_metrics.hpp"
#include "engine/executor/cost_model.hpp"
#include "engine/schedule/scheduler.hpp"

namespace vouch::actors {

/// What is counted, under the names that dashboards know (prefix `vouch_`).
/// Safe from any thread; one a runtime.
class metrics {
 public:
  metrics();
  ~metrics();
  metrics(const metrics&) = delete;
  metrics& operator=(const metrics&) = delete;

  /// What the program is: labels of the gauge build_info, always 1.
  /// `model_name` is a label of the `vllm:` families.
  void set_build_info(const std::string& version, const std::string& backend,
                      const std::string& fingerprint,
                      const std::string& model_name);
  /// Shows the common families under their `vllm:` names as well.
  void use_vllm_names(bool yes);
  /// A policy was read (again).
  void policy_loaded();

  /// SCHEDULER's counters and gauges as they are now.
  void publish(const engine::scheduler_stats& stats);
  engine::scheduler_stats stats() const;
  /// What steps are thought to cost now.
  void publish(const engine::step_cost_model& costs);
  /// The scheduler starts anew from zero; the counters go on.
  void scheduler_restarted();
  /// A step ended.
  void step(std::int64_t rows, double seconds);

  /// A request ended before it was admitted, or timed out before any token.
  void rejected(failure why);
  /// One choice ended: "stop", "length", "abort" or "error".
  void choice_ended(std::string_view finish_reason);
  /// Seconds of a request's life.
  void queue_time(double seconds);
  void prefill_time(double seconds);
  void decode_time(double seconds);
  void time_to_first_token(double seconds);
  void inter_token_latency(double seconds);
  void time_per_output_token(double seconds);
  void request_latency(double seconds);

  /// What drafting, verifying, the gate and its audit count.
  speculation_metrics& speculation();

  /// Prometheus text exposition.
  std::string text() const;

 private:
  struct impl;
  std::unique_ptr<impl> impl_;
};

}  // namespace vouch::actors
