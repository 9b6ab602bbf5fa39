#include "actors/gate.hpp"

#include <chrono>
#include <exception>
#include <utility>

namespace vouch::actors {
namespace {

using self_pointer = gate_actor::stateful_pointer<gate_state>;

/// Without news the board is told after so many units.
constexpr int units_a_notice = 50;

std::int64_t wall_ms() {
  return std::chrono::duration_cast<std::chrono::milliseconds>(
             std::chrono::system_clock::now().time_since_epoch())
      .count();
}

void warn(self_pointer self, const std::string& message) {
  if (self->state.setup.warn) {
    self->state.setup.warn(message);
  }
}

template <class Message>
void tell(self_pointer self, Message message) {
  if (const auto strong = self->state.scheduler.lock()) {
    self->send(caf::actor_cast<scheduler_actor>(strong), std::move(message));
  }
}

engine::gate_view view_of(const engine::gate& gate,
                          const engine::gate_snapshot& now) {
  engine::gate_view view;
  view.rules = gate.rules();
  view.verdict = now.verdict;
  view.scope = now.id;
  view.vouched_positions = now.vouched_positions;
  if (now.closed) {
    view.closed = now.closed->reason;
    view.detail = now.closed->detail;
  }
  return view;
}

/// Evidence and verdicts are on the disk when this returns, or somebody was
/// told why they are not.
void write_down(self_pointer self, const engine::gate_event& event) {
  auto& state = self->state;
  try {
    if (event.evidence && !state.setup.evidence.empty()) {
      const auto folder =
          engine::write_evidence(state.setup.evidence, *event.evidence);
      state.gate->set_evidence(folder.string());
    }
  } catch (const std::exception& error) {
    warn(self, "the evidence of a trip could not be written: " +
                   std::string{error.what()});
  }
  try {
    engine::verdict_store{state.setup.verdicts}.save(state.gate->scope(),
                                                     state.gate->verdicts());
  } catch (const std::exception& error) {
    warn(self, "verdicts could not be stored: " + std::string{error.what()});
  }
}

/// Tells SCHEDULER what changed, and everybody how things stand.
void publish(self_pointer self, bool tripped) {
  auto& state = self->state;
  auto now = state.gate->snapshot();
  auto view = view_of(*state.gate, now);
  if (tripped) {
    state.told = view;
    tell(self, gate_trip{std::move(view)});
  } else if (!state.has_told || !(view == state.told)) {
    state.told = view;
    tell(self, std::move(view));
  }
  state.has_told = true;
  state.counters->speculation().gate(now);
  state.notices->set_gate(std::move(now));
}

/// `ran`: a unit has ended. Otherwise only what is new is told.
void handle_events(self_pointer self, bool ran) {
  auto& state = self->state;
  bool tripped = false;
  const auto events = state.gate->take_events();
  if (events.empty() && state.has_told &&
      (!ran || ++state.untold < units_a_notice)) {
    return;
  }
  state.untold = 0;
  for (const auto& event : events) {
    if (event.what == engine::gate_event::kind::tripped) {
      // Nothing is served on a verdict that has fallen.
      tell(self, pause_atom_v);
      tripped = true;
    }
    write_down(self, event);
  }
  publish(self, tripped);
}

void release_holds(self_pointer self) {
  auto& state = self->state;
  auto holds = state.gate->take_released();
  if (holds.empty()) {
    return;
  }
  const double seconds = state.gate->audit_done().seconds;
  const double more = seconds - std::exchange(state.audit_seconds, seconds);
  tell(self, audits_done{std::move(holds), more});
}

/// Goes on as far as memory and units allow.
void pump(self_pointer self) {
  auto& state = self->state;
  auto& gate = *state.gate;
  release_holds(self);
  if (!state.working) {
    if (auto unit = gate.next_unit()) {
      state.working = true;
      state.owed = gate.owed();
      const auto& step = unit->work.work;
      state.unit = {step.rows(), step.logits_rows(), 0.0};
      tell(self, gate_order{std::move(*unit), state.owed});
    }
  }
  // Also what asking for a unit has set free.
  while (auto spare = gate.give_back()) {
    tell(self, std::move(*spare));
  }
  const auto need = gate.need();
  if (need && need != state.asked) {
    state.asked = need;
    tell(self, loan_request{*need});
  }
  // The probe may have found that it is done.
  handle_events(self, false);
}

void start(self_pointer self) {
  auto& state = self->state;
  auto stored =
      engine::verdict_store{state.setup.verdicts}.load(state.setup.scope);
  if (!stored.warning.empty()) {
    warn(self, stored.warning);
  }
  state.gate.emplace(state.setup.scope, std::move(stored.table),
                     state.setup.options);
}

}  // namespace

gate_actor::behavior_type gate_behavior(self_pointer self, gate_setup setup,
                                        std::shared_ptr<board> notices,
                                        std::shared_ptr<metrics> counters) {
  auto& state = self->state;
  state.setup = std::move(setup);
  state.notices = std::move(notices);
  state.counters = std::move(counters);
  start(self);
  return {
      [self](start_atom) {
        self->state.scheduler =
            caf::actor_cast<caf::weak_actor_ptr>(self->current_sender());
        handle_events(self, true);
        pump(self);
      },
      [self](engine::loan& lent) {
        self->state.asked.reset();
        self->state.gate->lend(std::move(lent));
        pump(self);
      },
      [self](recall_atom) {
        self->state.gate->withdraw();
        pump(self);
      },
      [self](engine::gate_unit_result& result) {
        self->state.working = false;
        if (result.step.error.empty() && self->state.unit.rows > 0) {
          self->state.unit.seconds = result.step.seconds;
          tell(self, self->state.unit);
        }
        self->state.gate->take(result, wall_ms());
        handle_events(self, true);
        pump(self);
      },
      [self](served_report& report) {
        auto& state = self->state;
        state.untold = units_a_notice;
        state.gate->served(report.seconds);
        // In this order: what was dropped may be one of these records, and
        // its blocks are somebody else's by now.
        for (auto& record : report.audited) {
          state.gate->audited(std::move(record));
        }
        for (const auto hold : report.dropped) {
          state.gate->lost(hold);
        }
        if (state.working && !state.owed && state.gate->owed()) {
          state.owed = true;
          tell(self, owed_atom_v);
        }
        handle_events(self, true);
        pump(self);
      },
  };
}

}  // namespace vouch::actors
