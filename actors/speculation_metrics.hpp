#pragma once

#include <memory>

#include "engine/gate/snapshot.hpp"
#include "engine/schedule/burst.hpp"
#include "engine/speculation/decline.hpp"

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

  /// A verify block was settled; a classic step (no drafts) is not counted.
  void round(const engine::round_report& report);
  /// A request, or a round of one, goes on classically.
  void declined(engine::decline_reason reason);
  /// The drafter ran so long.
  void drafted(double seconds);
  /// How the gate stands now; counts grow by what is more than in the snapshot
  /// before.
  void gate(const engine::gate_snapshot& now);

 private:
  struct impl;
  std::unique_ptr<impl> impl_;
};

}  // namespace vouch::actors
