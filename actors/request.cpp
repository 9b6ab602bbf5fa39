#include "actors/request.hpp"

#include <algorithm>
#include <chrono>
#include <random>
#include <utility>

namespace vouch::actors {
namespace {

using self_pointer = request_actor::stateful_pointer<request_state>;

double now_ms(self_pointer self) {
  return std::chrono::duration<double, std::milli>(
             self->clock().now().time_since_epoch())
      .count();
}

/// After the terminal event. CAF keeps what watches an actor until that actor
/// ends, and with it the memory of the watcher: SCHEDULER, and a client with
/// many requests, would collect all REQUESTs there ever were.
void leave(self_pointer self) {
  const auto& setup = self->state.setup;
  self->demonitor(setup.client.address());
  self->demonitor(setup.scheduler.address());
  self->quit();
}

/// The terminal event of a request without a result.
void fail(self_pointer self, failed event) {
  auto& state = self->state;
  if (state.ended) {
    return;
  }
  state.ended = true;
  auto& counters = *state.setup.counters;
  // A timeout before any result is the queue's, not a choice that went wrong.
  const bool served =
      state.admitted && (event.kind != failure::timeout || state.advanced);
  if (!served) {
    counters.rejected(event.kind);
  }
  for (const auto& choice : state.choices) {
    if (served && !choice.ended()) {
      counters.choice_ended(event.kind == failure::cancelled ? "abort"
                                                             : "error");
    }
  }
  self->send(state.setup.client, std::move(event));
  leave(self);
}

void fail(self_pointer self, failure kind, const std::string& message) {
  fail(self, failed{self->state.setup.request.id, kind, message, ""});
}

void finish(self_pointer self) {
  auto& state = self->state;
  state.ended = true;
  state.times->finished(now_ms(self));
  finished event;
  event.id = state.setup.request.id;
  event.prompt_tokens = static_cast<std::int64_t>(state.prepared.prompt.size());
  for (const auto& choice : state.choices) {
    event.completion_tokens += choice.completion_tokens();
    if (const auto& report = choice.speculation()) {
      event.accepted_drafts += report->accepted;
      event.rejected_drafts += report->rejected();
    }
  }
  event.cached_tokens = state.cached_tokens;
  self->send(state.setup.client, std::move(event));
  leave(self);
}

void show_prompt(self_pointer self, std::size_t index) {
  auto& state = self->state;
  if (index < state.prompt_shown.size() && !state.prompt_shown[index]) {
    state.prompt_shown[index] = true;
    self->send(state.setup.client,
               state.choices[index].show_prompt(state.prepared.prompt,
                                                state.prepared.prompt_text,
                                                state.prompt_scores));
  }
}

void send_event(self_pointer self, std::size_t index, tokens event) {
  auto& state = self->state;
  state.times->emitted(index, event.emitted.size(), now_ms(self));
  if (!event.finish_reason.empty()) {
    state.times->choice_ended(index);
    state.setup.counters->choice_ended(event.finish_reason);
  }
  if (!event.emitted.empty() || !event.text.empty() ||
      !event.finish_reason.empty()) {
    self->send(state.setup.client, std::move(event));
  }
}

/// Nothing is (or has to be) generated: every choice ends after the prompt.
void end_after_prompt(self_pointer self) {
  for (std::size_t i = 0; i < self->state.choices.size(); ++i) {
    show_prompt(self, i);
    send_event(self, i, self->state.choices[i].end_at_once());
  }
  finish(self);
}

void start(self_pointer self) {
  auto& state = self->state;
  const auto& request = state.setup.request;
  state.admitted = true;
  for (std::int32_t i = 0; i < request.n; ++i) {
    state.choices.emplace_back(request, state.prepared, state.setup.model, i);
  }
  if (request.echo || state.prepared.prompt_logprobs >= 0) {
    state.prompt_shown.resize(state.choices.size());
  }
  state.times->started(state.choices.size());
  self->send(state.setup.client,
             started{request.id,
                     static_cast<std::int64_t>(state.prepared.prompt.size()),
                     state.prepared.sampling.seed, state.prepared.max_tokens});
}

void submit(self_pointer self) {
  auto& state = self->state;
  const auto& request = state.setup.request;
  state.times->submitted(now_ms(self));
  self->request(state.setup.scheduler, caf::infinite,
                make_submission(request, state.prepared))
      .then(
          [self](const admission& answer) {
            auto& state = self->state;
            if (answer.verdict != engine::rejection::none) {
              fail(self, describe(answer.verdict, state.setup.request.id,
                                  static_cast<std::int64_t>(
                                      state.prepared.prompt.size()),
                                  *state.setup.model));
              return;
            }
            state.first = answer.first;
            start(self);
          },
          [self](const caf::error&) {
            fail(self, failure::internal, "the scheduler failed");
          });
}

void run_prepare(self_pointer self) {
  auto& state = self->state;
  const auto& request = state.setup.request;
  try {
    state.prepared = prepare(request, *state.setup.model);
  } catch (const request_error& error) {
    fail(self, failed{request.id, error.kind(), error.what(), error.param()});
    return;
  } catch (const std::exception& error) {
    fail(self, failure::internal, error.what());
    return;
  }
  if (!request.has_seed) {
    std::random_device entropy;
    // JSON numbers are exact only up to 2^53 - 1 in many clients, which must be
    // able to send it back.
    state.prepared.sampling.seed =
        ((std::uint64_t{entropy()} << 32U) ^ entropy()) >> 11U;
  }
  if (state.prepared.text_only()) {
    start(self);
    end_after_prompt(self);
    return;
  }
  submit(self);
}

/// The choice of an update has said all, although SCHEDULER did not know yet.
bool is_late(const request_state& state,
             const engine::sequence_update& update) {
  const auto index = static_cast<std::size_t>(update.id - state.first);
  return index < state.choices.size() && state.choices[index].ended();
}

/// False when the request has ended.
bool advance(self_pointer self, engine::sequence_update& update) {
  auto& state = self->state;
  const auto index = static_cast<std::size_t>(update.id - state.first);
  if (index >= state.choices.size()) {
    return true;
  }
  if (update.finished && update.reason == engine::finish_reason::failed) {
    fail(self, failure::internal, update.error);
    return false;
  }
  if (update.finished && update.reason == engine::finish_reason::aborted) {
    fail(self, failure::cancelled, "the request was aborted");
    return false;
  }
  state.advanced = true;
  if (index == 0) {
    state.cached_tokens = std::max(state.cached_tokens, update.cached_tokens);
    if (update.admitted_ms >= 0) {
      state.times->admitted(static_cast<double>(update.admitted_ms));
    }
    if (!update.prompt_logprobs.empty()) {
      state.prompt_scores = std::move(update.prompt_logprobs);
    }
  }
  if (state.prepared.max_tokens == 0) {
    end_after_prompt(self);
    return false;
  }
  auto& choice = state.choices[index];
  show_prompt(self, index);
  send_event(self, index, choice.advance(update));
  if (choice.ended_early()) {
    self->send(state.setup.scheduler, abort_atom_v, update.id);
  }
  return true;
}

}  // namespace

request_actor::behavior_type request_behavior(self_pointer self,
                                              request_setup setup) {
  auto& state = self->state;
  state.setup = std::move(setup);
  state.times.emplace(state.setup.counters, now_ms(self));
  self->monitor(state.setup.client);
  self->monitor(state.setup.scheduler);
  self->set_down_handler([self](const caf::down_msg& down) {
    if (down.source == self->state.setup.client.address()) {
      fail(self, failure::cancelled, "the client has gone");
    } else {
      fail(self, failure::internal, "the scheduler failed");
    }
  });
  // Counts first: an overload is refused before any work is done for it.
  self->request(state.setup.scheduler, caf::infinite, reserve_atom_v)
      .then(
          [self](const admission& answer) {
            if (answer.verdict != engine::rejection::none) {
              fail(self, describe(answer.verdict, self->state.setup.request.id,
                                  0, *self->state.setup.model));
              return;
            }
            run_prepare(self);
          },
          [self](const caf::error&) {
            fail(self, failure::internal, "the scheduler failed");
          });
  return {
      [self](progress& news) {
        auto& updates = news.updates;
        const auto late = [&](const engine::sequence_update& update) {
          return is_late(self->state, update);
        };
        updates.erase(std::remove_if(updates.begin(), updates.end(), late),
                      updates.end());
        if (news.expired && !updates.empty() && !self->state.ended) {
          fail(self, failure::timeout, updates.front().error);
          return;
        }
        for (auto& update : updates) {
          if (self->state.ended || !advance(self, update)) {
            return;
          }
        }
        const auto& choices = self->state.choices;
        if (std::all_of(choices.begin(), choices.end(),
                        [](const choice& one) { return one.ended(); })) {
          finish(self);
        }
      },
      [self](cancel_atom) {
        fail(self, failure::cancelled, "the request was cancelled");
      },
  };
}

}  // namespace vouch::actors
