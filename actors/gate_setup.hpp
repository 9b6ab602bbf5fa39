#pragma once

#include <filesystem>
#include <functional>
#include <string>

#include "engine/executor/executor.hpp"
#include "engine/gate/gate.hpp"
#include "engine/gate/verdict_store.hpp"
#include "engine/schedule/policy.hpp"

namespace vouch::actors {

/// What GATE is made with.
struct gate_setup {
  engine::verdict_scope scope;
  engine::gate_options options;
  /// Where verdicts are kept; empty: nowhere.
  std::filesystem::path verdicts;
  /// Where a trip's evidence goes; empty: nowhere.
  std::filesystem::path evidence;
  /// Told in a sentence what could not be read or written; may be empty.
  std::function<void(const std::string&)> warn;
};

/// The gate's setup for what is served: by rules and by the executor's limits.
/// Empty: there is no gate, and nothing is vouched for.
using make_gate_setup = std::function<gate_setup(
    const engine::policy&, const engine::executor_limits&)>;

}  // namespace vouch::actors
