#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "actors/board.hpp"
#include "actors/interfaces.hpp"
#include "actors/loader.hpp"
#include "actors/metrics.hpp"

namespace vouch::actors {

/// What SUPERVISOR is made with.
struct supervisor_setup {
  load_function load;
  engine::policy rules;
  int steps_in_flight = 1;
  std::shared_ptr<board> notices;
  std::shared_ptr<metrics> counters;
  /// Told in a sentence what went wrong; may be empty.
  std::function<void(const std::string&)> warn;
  /// SCHEDULER, ENGINE and LOADER get threads of their own. Off only in tests
  /// with a deterministic scheduler.
  bool detach = true;
  /// Wait before restart k is backoff * 2^k; then the runtime has failed.
  std::chrono::milliseconds backoff{100};
  int max_restarts = 5;
};

struct supervisor_state {
  static inline const char* name = "supervisor";

  supervisor_setup setup;
  loader_actor loader;
  engine_actor engine;
  scheduler_actor scheduler;
  /// nullptr where nothing drafts.
  drafter_actor drafter;
  /// nullptr where nothing is measured. Its setup, to make it again.
  gate_actor gate;
  std::optional<gate_setup> gate_parts;

  /// A REQUEST that runs: SUPERVISOR keeps it alive.
  struct running {
    request_actor actor;
    client_actor client;
    std::string id;
  };
  std::unordered_map<caf::actor_addr, running> requests;

  /// ENGINE and SCHEDULER have run: what fails from then on is tried again.
  bool has_served = false;
  int restarts = 0;
  int drafter_restarts = 0;
  int gate_restarts = 0;
  /// GATE ends because it is to measure something else.
  bool gate_rescoped = false;
  caf::actor_clock::time_point serving_since;
  bool draining = false;
  bool stopping = false;
  /// Who waits for the drain, and whether its deadline had to be enforced.
  std::vector<caf::typed_response_promise<bool>> drains;
  std::uint64_t drain_number = 0;
  bool drain_overran = false;
};

/// Starts LOADER, then ENGINE and SCHEDULER; restarts these two together when
/// one dies, because neither can go on with the other's memory of slots.
supervisor_actor::behavior_type supervisor_behavior(
    supervisor_actor::stateful_pointer<supervisor_state> self,
    supervisor_setup setup);

}  // namespace vouch::actors
