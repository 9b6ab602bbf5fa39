#include "actors/scheduler.hpp"

#include <atomic>
#include <chrono>
#include <utility>

namespace vouch::actors {
namespace {

using self_pointer = scheduler_actor::stateful_pointer<scheduler_state>;

constexpr std::chrono::milliseconds tick_interval{100};

std::int64_t now_ms(self_pointer self) {
  return std::chrono::duration_cast<std::chrono::milliseconds>(
             self->clock().now().time_since_epoch())
      .count();
}

/// Plans a step and hands it to ENGINE; false where there is none.
bool plan_step(self_pointer self) {
  auto& state = self->state;
  const auto now = now_ms(self);
  auto planned = state.schedule->plan(now);
  if (!planned) {
    return false;
  }
  state.gate->planned();
  state.watch.submitted(now);
  state.step_sizes.push_back(
      {planned->work.rows(), planned->work.logits_rows()});
  self->send(state.setup.engine, std::move(*planned));
  return true;
}

/// Asks DRAFTER for what the next step may verify; false where there is nothing
/// to wait for.
bool ask_drafter(self_pointer self) {
  auto& state = self->state;
  if (!state.setup.drafter) {
    return false;
  }
  auto order = state.desk->order(*state.schedule);
  if (!order) {
    return false;
  }
  state.drafting = state.desk->worth_waiting(*order);
  self->send(state.setup.drafter, std::move(*order));
  return state.drafting;
}

/// What the gate is told, gets and may do now.
void serve_gate(self_pointer self) {
  auto& state = self->state;
  auto& gate = *state.gate;
  if (!state.setup.gate) {
    gate.abandon(*state.schedule);  // what was drawn while there was one
    return;
  }
  const bool idle = state.step_sizes.empty() && !state.drafting;
  if (auto news = gate.report(*state.schedule, idle)) {
    self->send(state.setup.gate, std::move(*news));
  }
  if (gate.recall(*state.schedule)) {
    self->send(state.setup.gate, recall_atom_v);
  }
  if (auto lent = gate.lend(*state.schedule)) {
    self->send(state.setup.gate, std::move(*lent));
  }
  if (auto unit = gate.take_unit(idle)) {
    self->send(state.setup.engine,
               gate_work{std::move(*unit), caf::actor_cast<caf::weak_actor_ptr>(
                                               state.setup.gate)});
  }
}

/// Works with this gate from now on; nullptr: without one.
void set_gate(self_pointer self, gate_actor gate) {
  auto& state = self->state;
  state.setup.gate = std::move(gate);
  if (!state.setup.gate) {
    state.schedule->set_audit_draw({});
    return;
  }
  self->monitor(state.setup.gate);
  state.schedule->set_audit_draw(
      [&desk = *state.gate](const engine::audit_candidate& item) {
        return desk.draw(item);
      });
  self->send(state.setup.gate, start_atom_v);
}

/// False: a GATE that has been replaced said this.
bool from_gate(self_pointer self) {
  const auto& gate = self->state.setup.gate;
  const auto& sender = self->current_sender();
  return gate && sender &&
         caf::actor_cast<caf::actor_addr>(sender) == gate.address();
}

/// Plans as many steps as may be in flight, and shows what changed.
void advance(self_pointer self) {
  auto& state = self->state;
  const auto most = static_cast<std::size_t>(state.setup.steps_in_flight);
  while (!state.paused && !state.drafting && state.step_sizes.size() < most) {
    if (ask_drafter(self) || !plan_step(self)) {
      break;
    }
  }
  serve_gate(self);
  state.setup.counters->publish(state.schedule->stats());
  if (!state.tick_pending && !state.schedule->idle()) {
    state.tick_pending = true;
    self->delayed_send(self, tick_interval, tick_atom_v);
  }
}

void deliver(self_pointer self, std::vector<engine::sequence_update> updates,
             bool expired) {
  for (auto& [owner, mine] : self->state.owners.sort(std::move(updates))) {
    if (const auto strong = owner.lock()) {
      self->send(caf::actor_cast<request_actor>(strong),
                 progress{std::move(mine), expired});
    }
  }
}

/// DRAFTER has died: everybody goes on classically.
void lose_drafter(self_pointer self) {
  auto& state = self->state;
  state.setup.drafter = nullptr;
  state.drafting = false;
  state.desk->set_drafter(engine::decline{engine::decline_reason::no_drafter,
                                          "the drafter has failed"});
  state.setup.notices->set_speculation(state.desk->status());
  advance(self);
}

/// There is no GATE (any more), and nothing of what it stood for.
void lose_gate(self_pointer self, const char* why) {
  auto& state = self->state;
  set_gate(self, gate_actor{});
  auto open = state.gate->abandon(*state.schedule);
  if (!open.empty()) {
    // Behind the unit that may be out.
    engine::gate_unit closing;
    closing.work.released = std::move(open);
    self->send(state.setup.engine, gate_work{std::move(closing), {}});
  }
  state.paused = false;
  engine::gate_view closed;
  closed.closed = engine::decline_reason::gate_not_run;
  closed.detail = why;
  state.desk->set_gate(std::move(closed), *state.schedule);
  advance(self);
}

}  // namespace

engine::sequence_id scheduler_state::next_ids(std::size_t count) {
  static std::atomic<engine::sequence_id> next{1};
  return next.fetch_add(count);
}

bool scheduler_state::queue_has_room() const {
  const auto queued = schedule->stats().queued_requests +
                      static_cast<std::int64_t>(reserved.size());
  return queued < setup.rules.limits.max_queued_requests;
}

void scheduler_state::abort(engine::sequence_id id) {
  schedule->abort(id);
  desk->close(id);
}

void scheduler_state::count_step(const engine::step_result& result) {
  if (step_sizes.empty()) {
    return;
  }
  const auto size = step_sizes.front();
  step_sizes.pop_front();
  setup.counters->step(size.rows, result.seconds);
  if (result.error.empty()) {
    costs.observe(size.rows, size.logits_rows, result.seconds);
  }
}

admission scheduler_state::add(submission& batch,
                               const caf::strong_actor_ptr& owner,
                               std::int64_t now_ms) {
  const auto count = batch.choices.size();
  const auto first = next_ids(count);
  for (std::size_t i = 0; i < count; ++i) {
    auto& start = batch.choices[i];
    start.id = first + i;
    start.sibling_of = i == 0 ? 0 : first;
    desk->open(start, batch.request, static_cast<std::int64_t>(i));
    const auto verdict = schedule->add(std::move(start), now_ms);
    if (verdict != engine::rejection::none) {
      desk->close(first + i);
      while (i > 0) {
        abort(first + --i);
      }
      return {verdict, 0};
    }
  }
  owners.add(first, count, owner);
  return {engine::rejection::none, first};
}

scheduler_actor::behavior_type scheduler_behavior(self_pointer self,
                                                  scheduler_setup setup) {
  auto& state = self->state;
  state.setup = std::move(setup);
  const auto tokenizer = state.setup.model->parts.tokenizer;
  state.schedule.emplace(
      state.setup.rules, state.setup.model->limits, state.setup.steps_in_flight,
      [tokenizer](engine::token_id token) {
        // As the text does: special tokens are no part of it.
        return tokenizer->is_special(token) ? std::string_view{}
                                            : tokenizer->token_bytes(token);
      });
  state.schedule->set_faults(state.setup.model->parts.faults);
  state.setup.counters->publish(state.schedule->stats());
  state.costs = std::move(state.setup.costs);
  state.setup.counters->publish(state.costs);

  state.desk.emplace(std::move(state.setup.bursts), state.costs,
                     state.setup.counters);
  state.schedule->set_burst_rules(state.desk->gate().rules);
  state.setup.notices->set_speculation(state.desk->status());
  if (state.setup.drafter) {
    self->monitor(state.setup.drafter);
  }
  state.gate.emplace(state.setup.audit);
  set_gate(self, state.setup.gate);

  self->set_down_handler([self](caf::down_msg& down) {
    auto& state = self->state;
    if (state.setup.drafter && down.source == state.setup.drafter.address()) {
      lose_drafter(self);
      return;
    }
    if (state.setup.gate && down.source == state.setup.gate.address()) {
      lose_gate(self, "the gate has failed");
      return;
    }
    state.reserved.erase(down.source);
    for (const auto id : state.owners.erase(down.source)) {
      state.abort(id);
    }
    advance(self);
  });

  return {
      [self](reserve_atom) {
        auto& state = self->state;
        if (!state.queue_has_room()) {
          return admission{engine::rejection::queue_full, 0};
        }
        const auto& sender = self->current_sender();
        self->monitor(caf::actor_cast<caf::actor_addr>(sender));
        state.reserved.insert(caf::actor_cast<caf::actor_addr>(sender));
        return admission{};
      },
      [self](submission& choices) {
        auto& state = self->state;
        const auto& sender = self->current_sender();
        state.reserved.erase(caf::actor_cast<caf::actor_addr>(sender));
        const auto answer = state.add(choices, sender, now_ms(self));
        advance(self);
        return answer;
      },
      [self](abort_atom, engine::sequence_id id) {
        self->state.owners.erase(id);
        self->state.abort(id);
        advance(self);
      },
      [self](engine::step_result& result) {
        auto& state = self->state;
        state.watch.completed(now_ms(self));
        state.setup.notices->set_on_time(true);
        state.count_step(result);
        state.gate->served(result.seconds);
        auto updates = state.schedule->update(result);
        for (const auto& record : state.gate->collect(*state.schedule)) {
          state.desk->book().audited(record.id, record.rows);
        }
        state.desk->take(updates, *state.schedule);
        // The device first: it computes while the others are told.
        advance(self);
        deliver(self, std::move(updates), false);
      },
      [self](drafts& answer) {
        auto& state = self->state;
        if (!state.drafting) {
          state.desk->take_late(answer);
          return;
        }
        if (!state.desk->take(answer, *state.schedule)) {
          return;
        }
        state.drafting = false;
        if (state.paused) {
          return;  // what was drafted for has a verdict that has fallen
        }
        if (plan_step(self)) {
          advance(self);
        }
      },
      [self](engine::gate_view& view) {
        auto& state = self->state;
        if (from_gate(self)) {
          state.desk->set_gate(std::move(view), *state.schedule);
          advance(self);
        }
      },
      [self](new_gate& arrived) {
        if (self->state.setup.gate) {
          self->demonitor(self->state.setup.gate.address());
          lose_gate(self, "it is measured anew");
        }
        if (arrived.gate) {
          set_gate(self, std::move(arrived.gate));
          advance(self);
        }
      },
      [self](pause_atom) {
        auto& state = self->state;
        state.paused = state.paused || from_gate(self);
      },
      [self](gate_trip& trip) {
        auto& state = self->state;
        if (!from_gate(self)) {
          return;
        }
        state.paused = false;
        state.desk->book().trip();
        state.desk->set_gate(std::move(trip.view), *state.schedule);
        // A running burst goes on classically; all rows since are computed
        // again.
        state.schedule->distrust();
        advance(self);
      },
      [self](loan_request& request) {
        if (from_gate(self)) {
          self->state.gate->ask(request.need);
          serve_gate(self);
        }
      },
      [self](engine::loan& lent) {
        if (from_gate(self)) {
          self->state.gate->take_back(lent, *self->state.schedule);
          advance(self);
        }
      },
      [self](audits_done& what) {
        if (from_gate(self)) {
          self->state.gate->done(what, *self->state.schedule);
        }
      },
      [self](gate_order& order) {
        if (from_gate(self)) {
          self->state.gate->put(std::move(order));
          serve_gate(self);
        }
      },
      [self](owed_atom) {
        if (from_gate(self)) {
          self->state.gate->owe();
          serve_gate(self);
        }
      },
      [self](step_cost& cost) {
        self->state.costs.observe(cost.rows, cost.logits_rows, cost.seconds);
      },
      [self](new_drafter& arrived) {
        auto& state = self->state;
        state.drafting = false;  // whoever was asked will not answer
        state.setup.drafter = std::move(arrived.drafter);
        self->monitor(state.setup.drafter);
        state.desk->set_drafter(std::nullopt);
        state.setup.notices->set_speculation(state.desk->status());
        advance(self);
      },
      [self](policy_change& change) {
        self->state.setup.rules = change.rules;
        self->state.schedule->set_policy(change.rules);
        advance(self);
      },
      [self](tick_atom) {
        auto& state = self->state;
        const auto now = now_ms(self);
        state.tick_pending = false;
        auto expired = state.schedule->expire(now);
        state.desk->take(expired, *state.schedule);
        deliver(self, std::move(expired), true);
        state.setup.notices->set_on_time(state.watch.on_time(now));
        state.setup.notices->set_speculation(state.desk->status());
        state.setup.counters->publish(state.costs);
        advance(self);
      },
  };
}

}  // namespace vouch::actors
