#pragma once

#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "actors/board.hpp"
#include "actors/gate_setup.hpp"
#include "actors/interfaces.hpp"
#include "actors/metrics.hpp"
#include "engine/gate/gate.hpp"

namespace vouch::actors {

struct gate_state {
  static inline const char* name = "gate";

  gate_setup setup;
  std::shared_ptr<board> notices;
  std::shared_ptr<metrics> counters;
  /// Decides everything; this actor only translates.
  std::optional<engine::gate> gate;
  /// Weak: SCHEDULER keeps GATE.
  caf::weak_actor_ptr scheduler;
  /// The memory that was asked for last; a new request replaces the old one.
  std::optional<engine::gate_need> asked;
  /// A unit is out.
  bool working = false;
  /// The unit that is out was said to be owed.
  bool owed = false;
  step_cost unit;
  /// What SCHEDULER was told last.
  engine::gate_view told;
  bool has_told = false;
  double audit_seconds = 0.0;
  /// Units since the board was told how things stand.
  int untold = 0;
};

/// Runs the probe and the audit by units through SCHEDULER, and tells it and
/// the board what is vouched for.
gate_actor::behavior_type gate_behavior(
    gate_actor::stateful_pointer<gate_state> self, gate_setup setup,
    std::shared_ptr<board> notices, std::shared_ptr<metrics> counters);

}  // namespace vouch::actors
