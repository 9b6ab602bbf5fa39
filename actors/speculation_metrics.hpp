#pragma once

#include <cstdint>
#include <memory>

#include "engine/speculation/decline.hpp"
#include "engine/speculation/round.hpp"

namespace prometheus {
class Registry;
}

namespace vouch::actors {

/// What is counted about drafts, verify blocks, the gate and its audit. Safe
/// from any thread; belongs to a `metrics`.
class speculation_metrics {
 public:
  explicit speculation_metrics(prometheus::Registry& registry);
  ~speculation_metrics();
  speculation_metrics(const speculation_metrics&) = delete;
  speculation_metrics& operator=(const speculation_metrics&) = delete;

  /// A verify block with `drafts` drafts, at least one, was settled.
  void round(std::int64_t drafts, const engine::round_outcome& outcome);
  /// A request, or a round of one, goes on classically.
  void declined(engine::decline_reason reason);
  /// The drafter ran so long.
  void drafted(double seconds);

 private:
  struct impl;
  std::unique_ptr<impl> impl_;
};

}  // namespace vouch::actors
