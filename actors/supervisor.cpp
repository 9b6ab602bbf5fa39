#include "actors/supervisor.hpp"

#include <stdexcept>
#include <utility>

#include "actors/drafter.hpp"
#include "actors/engine.hpp"
#include "actors/gate.hpp"
#include "actors/request.hpp"
#include "actors/scheduler.hpp"

namespace vouch::actors {
namespace {

using self_pointer = supervisor_actor::stateful_pointer<supervisor_state>;

void warn(self_pointer self, const std::string& message) {
  if (self->state.setup.warn) {
    self->state.setup.warn(message);
  }
}

std::string text_of(const std::exception_ptr& error) {
  try {
    std::rethrow_exception(error);
  } catch (const std::exception& known) {
    return known.what();
  } catch (...) {
    return "unknown exception";
  }
}

template <class F, class... Args>
auto spawn_monitored(self_pointer self, F behavior, Args&&... args) {
  if (self->state.setup.detach) {
    return self->template spawn<caf::detached + caf::monitored>(
        behavior, std::forward<Args>(args)...);
  }
  return self->template spawn<caf::monitored>(behavior,
                                              std::forward<Args>(args)...);
}

void cancel_all(self_pointer self) {
  for (const auto& [address, running] : self->state.requests) {
    self->send(running.actor, cancel_atom_v);
  }
}

/// Ends what is left, upstream first, one at a time: each step is taken when
/// the actor before has gone, so nobody speaks to the dead and the executor is
/// destroyed when no step can come any more.
void continue_stop(self_pointer self) {
  auto& state = self->state;
  if (!state.stopping || !state.requests.empty()) {
    return;
  }
  if (state.scheduler) {
    self->send_exit(state.scheduler, caf::exit_reason::user_shutdown);
  } else if (state.gate) {
    self->send_exit(state.gate, caf::exit_reason::user_shutdown);
  } else if (state.drafter) {
    self->send_exit(state.drafter, caf::exit_reason::user_shutdown);
  } else if (state.engine) {
    self->send_exit(state.engine, caf::exit_reason::user_shutdown);
  } else if (state.loader) {
    self->send_exit(state.loader, caf::exit_reason::user_shutdown);
  } else {
    state.setup.notices->set_state(life::stopped);
    self->quit();
  }
}

void finish_drain(self_pointer self) {
  auto& state = self->state;
  if (!state.requests.empty()) {
    return;
  }
  for (auto& promise : std::exchange(state.drains, {})) {
    promise.deliver(!state.drain_overran);
  }
}

void start_drafter(self_pointer self, const components& parts) {
  if (!parts.bursts.declined) {
    self->state.drafter =
        spawn_monitored(self, drafter_behavior,
                        drafter_setup{parts.drafter, self->state.engine});
  }
}

void start_gate(self_pointer self) {
  auto& state = self->state;
  if (state.gate_parts) {
    state.gate = spawn_monitored(self, gate_behavior, *state.gate_parts,
                                 state.setup.notices, state.setup.counters);
  }
}

void start_serving(self_pointer self, load_result& loaded) {
  auto& state = self->state;
  const auto limits = loaded.device->limits();
  auto model = make_serving(*loaded.parts, limits);
  if (model->parts.gate) {
    state.gate_parts = model->parts.gate(state.setup.rules, limits);
  }
  state.setup.counters->scheduler_restarted();
  // Whoever is told of `ready` may look before SCHEDULER's first word.
  engine::scheduler_stats empty;
  empty.total_blocks = limits.blocks;
  empty.free_blocks = limits.blocks;
  state.setup.counters->publish(empty);
  state.has_served = true;
  state.serving_since = self->clock().now();
  state.engine =
      spawn_monitored(self, engine_behavior, std::move(loaded.device));
  start_drafter(self, model->parts);
  start_gate(self);
  state.scheduler = spawn_monitored(
      self, scheduler_behavior,
      scheduler_setup{state.engine, model, state.setup.rules,
                      state.setup.steps_in_flight, state.setup.counters,
                      state.setup.notices, std::move(loaded.costs),
                      state.drafter, model->parts.bursts, state.gate,
                      state.gate_parts ? state.gate_parts->options.audit
                                       : engine::audit_options{}});
  state.setup.notices->set_on_time(true);
  state.setup.notices->set_ready(std::move(model));
}

/// ENGINE or SCHEDULER has died: the other one goes too; when both have gone,
/// LOADER is asked for a new executor after a pause. The same when LOADER could
/// not make one, which `why` then tells.
void restart(self_pointer self, const std::exception_ptr& why = nullptr) {
  auto& state = self->state;
  if (state.scheduler) {
    self->send_exit(state.scheduler, caf::exit_reason::kill);
    return;
  }
  if (state.gate) {
    self->send_exit(state.gate, caf::exit_reason::kill);
    return;
  }
  if (state.drafter) {
    self->send_exit(state.drafter, caf::exit_reason::kill);
    return;
  }
  if (state.engine) {
    self->send_exit(state.engine, caf::exit_reason::kill);
    return;
  }
  if (state.restarts >= state.setup.max_restarts) {
    warn(self, "the engine keeps failing; giving up");
    state.setup.notices->set_failed(
        why ? why
            : std::make_exception_ptr(
                  std::runtime_error("the engine keeps failing")));
    return;
  }
  const auto pause = state.setup.backoff * (1 << state.restarts++);
  self->delayed_send(self, pause, load_atom_v);
}

void request_down(self_pointer self, const caf::down_msg& down) {
  auto& state = self->state;
  const auto found = state.requests.find(down.source);
  if (found == state.requests.end()) {
    return;
  }
  // A REQUEST that ends by itself has sent its terminal event.
  if (down.reason != caf::exit_reason::normal) {
    state.setup.counters->rejected(failure::internal);
    self->send(
        found->second.client,
        failed{found->second.id, failure::internal,
               "the request failed: " + caf::to_string(down.reason), ""});
  }
  state.requests.erase(found);
}

/// SCHEDULER serves without it; a new one is spawned a few times.
void drafter_down(self_pointer self, const caf::down_msg& down) {
  auto& state = self->state;
  state.drafter = nullptr;
  if (state.stopping) {
    return;
  }
  if (!state.scheduler || !state.engine) {
    restart(self);
    return;
  }
  warn(self, "DRAFTER died: " + caf::to_string(down.reason));
  if (state.drafter_restarts++ < state.setup.max_restarts) {
    start_drafter(self, state.setup.notices->model()->parts);
    self->send(state.scheduler, new_drafter{state.drafter});
  }
}

/// Other rules may make other steps: the gate starts anew where its scope is
/// another one. SCHEDULER is told before it has the rules, and serves on
/// without a gate meanwhile.
void rescope_gate(self_pointer self) {
  auto& state = self->state;
  const auto model = state.setup.notices->model();
  if (!state.gate || !model || !model->parts.gate) {
    return;
  }
  auto parts = model->parts.gate(state.setup.rules, model->limits);
  if (parts.scope == state.gate_parts->scope) {
    return;
  }
  state.gate_parts = std::move(parts);
  state.gate_rescoped = true;
  self->send(state.scheduler, new_gate{});
  self->send_exit(state.gate, caf::exit_reason::user_shutdown);
}

/// SCHEDULER serves on unvouched until a new one has measured.
void gate_down(self_pointer self, const caf::down_msg& down) {
  auto& state = self->state;
  state.gate = nullptr;
  if (state.stopping) {
    return;
  }
  if (!state.scheduler || !state.engine) {
    restart(self);
    return;
  }
  const bool wanted = std::exchange(state.gate_rescoped, false);
  if (!wanted) {
    warn(self, "GATE died: " + caf::to_string(down.reason));
    ++state.gate_restarts;
  }
  if (wanted || state.gate_restarts <= state.setup.max_restarts) {
    start_gate(self);
    self->send(state.scheduler, new_gate{state.gate});
  }
}

void on_down(self_pointer self, const caf::down_msg& down) {
  auto& state = self->state;
  const auto is = [&](const auto& handle) {
    return handle && down.source == handle.address();
  };
  if (is(state.scheduler) || is(state.engine)) {
    if (!state.stopping && down.reason != caf::exit_reason::kill) {
      warn(self, std::string{is(state.engine) ? "ENGINE" : "SCHEDULER"} +
                     " died: " + caf::to_string(down.reason));
      state.setup.notices->set_state(state.draining ? life::draining
                                                    : life::loading);
      // A fault after a good while is a new one.
      if (self->clock().now() - state.serving_since > std::chrono::minutes{1}) {
        state.restarts = 0;
      }
    }
    if (is(state.engine)) {
      state.engine = nullptr;
    } else {
      state.scheduler = nullptr;
    }
    if (!state.stopping) {
      restart(self);
    }
  } else if (is(state.gate)) {
    gate_down(self, down);
  } else if (is(state.drafter)) {
    drafter_down(self, down);
  } else if (is(state.loader)) {
    state.loader = nullptr;
  } else {
    request_down(self, down);
  }
  finish_drain(self);
  continue_stop(self);
}

void refuse(self_pointer self, const incoming& arrived) {
  const auto& state = self->state;
  const char* why = "the model is being loaded";
  if (state.draining || state.stopping) {
    why = "the server is shutting down";
  } else if (state.setup.notices->state() == life::failed) {
    why = "the model could not be loaded";
  }
  state.setup.counters->rejected(failure::unavailable);
  self->send(arrived.client,
             failed{arrived.request.id, failure::unavailable, why, ""});
}

void accept(self_pointer self, incoming& arrived) {
  auto& state = self->state;
  auto client = arrived.client;
  auto id = arrived.request.id;
  auto actor = self->spawn<caf::monitored>(
      request_behavior,
      request_setup{std::move(arrived.request), client, state.scheduler,
                    state.setup.notices->model(), state.setup.counters});
  const auto address = actor.address();
  state.requests.emplace(
      address, supervisor_state::running{std::move(actor), std::move(client),
                                         std::move(id)});
}

}  // namespace

supervisor_actor::behavior_type supervisor_behavior(self_pointer self,
                                                    supervisor_setup setup) {
  auto& state = self->state;
  state.setup = std::move(setup);
  state.loader =
      spawn_monitored(self, loader_behavior, std::move(state.setup.load));
  self->set_down_handler(
      [self](const caf::down_msg& down) { on_down(self, down); });
  self->send(state.loader, load_atom_v);
  return {
      [self](incoming& arrived) {
        const auto& state = self->state;
        if (!state.scheduler || !state.engine || state.draining ||
            state.stopping) {
          refuse(self, arrived);
        } else {
          accept(self, arrived);
        }
      },
      [self](cancel_atom, const std::string& id) {
        for (const auto& [address, running] : self->state.requests) {
          if (running.id == id) {
            self->send(running.actor, cancel_atom_v);
          }
        }
      },
      [self](drain_atom, std::int64_t deadline_ms) {
        auto& state = self->state;
        auto promise = self->make_response_promise<bool>();
        state.draining = true;
        if (!state.stopping) {
          state.setup.notices->set_state(life::draining);
        }
        state.drains.push_back(promise);
        self->delayed_send(self, std::chrono::milliseconds{deadline_ms},
                           tick_atom_v, ++state.drain_number);
        finish_drain(self);
        return promise;
      },
      [self](policy_change& change) {
        auto& state = self->state;
        state.setup.rules = change.rules;
        state.setup.counters->policy_loaded();
        if (state.scheduler) {
          rescope_gate(self);
          self->send(state.scheduler, change);
        }
      },
      [self](load_atom) {
        if (self->state.loader && !self->state.stopping) {
          self->send(self->state.loader, load_atom_v);
        }
      },
      [self](load_result& loaded) {
        auto& state = self->state;
        if (state.stopping) {
          return;
        }
        if (loaded.error && state.has_served) {
          warn(self, "no new executor: " + text_of(loaded.error));
          restart(self, loaded.error);
          return;
        }
        if (loaded.error) {
          state.setup.notices->set_failed(loaded.error);
          return;
        }
        start_serving(self, loaded);
      },
      [self](tick_atom, std::uint64_t) {
        auto& state = self->state;
        if (!state.requests.empty()) {
          state.drain_overran = true;
          cancel_all(self);
        }
      },
      [self](stop_atom) {
        auto& state = self->state;
        state.stopping = true;
        state.setup.notices->ask_to_stop();
        cancel_all(self);
        continue_stop(self);
      },
  };
}

}  // namespace vouch::actors
