#pragma once

#include <functional>
#include <memory>
#include <string>

#include "cli/probe/options.hpp"
#include "engine/gate/probe.hpp"
#include "engine/gate/scope.hpp"

namespace vouch::cli::probe {

struct outcome {
  engine::verdict_scope scope;
  std::string drafter;
  /// The drafter was asked for and cannot be used; empty: it can.
  std::string declined;
  std::unique_ptr<engine::probe> probed;
  /// Wall time of the probe itself, without loading.
  double seconds = 0.0;
};

/// Loads the model and probes it to the end. `on_line` sees each scenario when
/// it is done. Throws engine::input_error.
outcome run(const options& chosen,
            const std::function<void(const engine::probe_line&)>& on_line);

}  // namespace vouch::cli::probe
