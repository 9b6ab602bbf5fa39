#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "actors/speculation_messages.hpp"
#include "engine/gate/audit.hpp"
#include "engine/schedule/scheduler.hpp"

namespace vouch::actors {

/// SCHEDULER's side of the gate: draws what is audited, lends memory, and says
/// when the gate's units may run. Not an actor: SCHEDULER calls it.
class gate_desk {
 public:
  explicit gate_desk(const engine::audit_options& options) : drawer_{options} {}

  bool draw(const engine::audit_candidate& item) { return drawer_.draw(item); }
  /// A served step took so long.
  void served(double seconds);
  /// What to tell GATE; nothing where that can wait.
  std::optional<served_report> report(engine::scheduler& schedule,
                                      bool at_once);
  void done(const audits_done& what, engine::scheduler& schedule);

  void ask(const engine::gate_need& need) { wanted_ = need; }
  /// The memory that was asked for, once it is there.
  std::optional<engine::loan> lend(engine::scheduler& schedule);
  void take_back(const engine::loan& lent, engine::scheduler& schedule);
  /// True once for every loan that sequences wait for.
  bool recall(const engine::scheduler& schedule);

  void put(gate_order order) { waiting_ = std::move(order); }
  void owe();
  /// The unit that may run now; `idle`: nobody else wants the device.
  std::optional<engine::gate_unit> take_unit(bool idle);

  /// GATE has died: everything it held comes back.
  void abandon(engine::scheduler& schedule);

 private:
  /// Where replays are not run: GATE has the other half of it.
  engine::audit drawer_;
  double seconds_ = 0.0;
  std::vector<std::uint64_t> holds_;
  std::optional<engine::gate_need> wanted_;
  std::vector<engine::loan> lent_;
  bool recalled_ = false;
  std::optional<gate_order> waiting_;
};

}  // namespace vouch::actors
