#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "actors/choice.hpp"
#include "actors/interfaces.hpp"
#include "actors/metrics.hpp"
#include "actors/prepare.hpp"
#include "actors/request_times.hpp"

namespace vouch::actors {

/// What a REQUEST is made with.
struct request_setup {
  generation_request request;
  client_actor client;
  scheduler_actor scheduler;
  std::shared_ptr<const serving> model;
  std::shared_ptr<metrics> counters;
};

struct request_state {
  static inline const char* name = "request";

  request_setup setup;
  prepared_request prepared;
  std::vector<choice> choices;
  /// Choice i is sequence first + i.
  engine::sequence_id first = 0;
  /// `started` was sent.
  bool admitted = false;
  /// A choice has made progress.
  bool advanced = false;
  /// The terminal event was sent.
  bool ended = false;
  /// Which choices have shown the prompt; empty when none has to.
  std::vector<bool> prompt_shown;
  std::vector<engine::picked_token> prompt_scores;
  std::int64_t cached_tokens = 0;
  std::optional<request_times> times;
};

/// One request's life: a place in the queue, the prompt's tokens, the choices'
/// events, one terminal event. Runs in the actor system's pool: rendering and
/// tokenising take one of its few threads, never SCHEDULER's.
///
/// It ends by itself when all is said, when its client or SCHEDULER dies, or
/// when it is cancelled; its end tells SCHEDULER to abort what still runs.
request_actor::behavior_type request_behavior(
    request_actor::stateful_pointer<request_state> self, request_setup setup);

}  // namespace vouch::actors
