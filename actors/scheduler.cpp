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
  state.watch.submitted(now);
  state.step_sizes.push_back(
      {planned->work.rows(), planned->work.logits_rows()});
  self->send(state.setup.engine, std::move(*planned));
  return true;
}

/// Asks DRAFTER for what the next step may verify; false where nobody is to be
/// drafted for.
bool ask_drafter(self_pointer self) {
  auto& state = self->state;
  if (!state.setup.drafter) {
    return false;
  }
  auto order = state.desk->order(*state.schedule);
  if (!order) {
    return false;
  }
  state.drafting = true;
  self->send(state.setup.drafter, std::move(*order));
  return true;
}

/// Plans as many steps as may be in flight, and shows what changed.
void advance(self_pointer self) {
  auto& state = self->state;
  const auto most = static_cast<std::size_t>(state.setup.steps_in_flight);
  while (!state.drafting && state.step_sizes.size() < most) {
    if (ask_drafter(self) || !plan_step(self)) {
      break;
    }
  }
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

  self->set_down_handler([self](caf::down_msg& down) {
    auto& state = self->state;
    if (state.setup.drafter && down.source == state.setup.drafter.address()) {
      lose_drafter(self);
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
        auto updates = state.schedule->update(result);
        state.desk->take(updates, *state.schedule);
        // The device first: it computes while the others are told.
        advance(self);
        deliver(self, std::move(updates), false);
      },
      [self](drafts& answer) {
        auto& state = self->state;
        if (!state.drafting || !state.desk->take(answer, *state.schedule)) {
          return;
        }
        state.drafting = false;
        if (plan_step(self)) {
          advance(self);
        }
      },
      [self](engine::gate_view& view) {
        auto& state = self->state;
        state.desk->set_gate(std::move(view), *state.schedule);
        advance(self);
      },
      [self](new_drafter& arrived) {
        auto& state = self->state;
        state.setup.drafter = std::move(arrived.drafter);
        self->monitor(state.setup.drafter);
        state.desk->set_drafter(std::nullopt);
        state.setup.notices->set_speculation(state.desk->status());
        advance(self);
      },
      [self](policy_change& change) {
        self->state.setup.rules = change.rules;
        self->state.schedule->set_policy(std::move(change.rules));
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
        state.setup.counters->publish(state.costs);
        state.setup.notices->set_speculation(state.desk->status());
        advance(self);
      },
  };
}

}  // namespace vouch::actors
