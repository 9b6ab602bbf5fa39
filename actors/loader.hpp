#pragma once

#include <functional>
#include <memory>

#include "actors/components.hpp"
#include "actors/interfaces.hpp"

namespace vouch::actors {

/// Reads a model's parts; throws engine::input_error.
using load_function = std::function<components()>;

struct loader_state {
  static inline const char* name = "loader";

  load_function load;
  /// What was loaded; a restart only needs a new executor.
  std::shared_ptr<components> parts;
};

/// Runs `load` in its own thread and answers load_atom with a load_result.
loader_actor::behavior_type loader_behavior(
    loader_actor::stateful_pointer<loader_state> self, load_function load);

}  // namespace vouch::actors
