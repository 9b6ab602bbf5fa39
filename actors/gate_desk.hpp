#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <set>
#include <span>
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

  bool draw(const engine::audit_candidate& item);
  /// A step was planned; what was drawn since the one before is its.
  void planned();
  /// A served step took so long.
  void served(double seconds);
  /// The drawn items of the step that was just settled: the oldest planned one.
  std::span<const engine::audit_record> collect(engine::scheduler& schedule);
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

  /// GATE has died: everything it held comes back. Slots that it has left open
  /// on the device.
  std::vector<engine::slot_id> abandon(engine::scheduler& schedule);

 private:
  /// Where replays are not run: GATE has the other half of it.
  engine::audit drawer_;
  /// Drawn since the last step was planned, and of the steps in flight, oldest
  /// first.
  std::size_t drawn_ = 0;
  std::deque<std::size_t> drawn_in_flight_;
  double seconds_ = 0.0;
  /// Not told to GATE yet.
  std::vector<engine::audit_record> audited_;
  std::vector<std::uint64_t> holds_;
  std::optional<engine::gate_need> wanted_;
  std::vector<engine::loan> lent_;
  bool recalled_ = false;
  /// Of lent slots, those that units have opened.
  std::set<engine::slot_id> open_;
  std::optional<gate_order> waiting_;
};

}  // namespace vouch::actors
