#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace vouch::engine {

/// Everything that a verdict was measured with, and so everything it holds for:
/// change any of it and the gate measures anew. Width and highest position are
/// keys inside a scope (engine/gate/verdict.hpp), as a wider block or a later
/// position is closed until it was probed.
struct verdict_scope {
  /// Fingerprint of the model's files (checkpoint::fingerprint()).
  std::string model;
  /// Fingerprint of the program itself (program_fingerprint()).
  std::string program;
  /// "cpu", "cuda".
  std::string backend;
  /// The processor's or the GPU's name.
  std::string device;
  /// Versions of what computes: compiler, kernel libraries, driver.
  std::string libraries;
  /// kernels::active_target().
  std::string dispatch;
  std::int32_t threads = 0;
  /// Kernel plan: "invariant", "fast".
  std::string plan;
  /// "f16", "f32".
  std::string kv_format;
  /// Kind of drafter ("none", "lookup", "dflash", ...) and its files'
  /// fingerprint, if it has any.
  std::string drafter = "none";
  std::string drafter_model;
  /// Layers whose outputs the drafter reads.
  std::vector<std::int32_t> taps;
  /// Planted faults in force; empty outside of tests.
  std::string faults;
  /// Rows that a step may have, prompt rows of one sequence in a step, tokens
  /// of a KV block, positions of an attention split.
  std::int64_t step_rows = 0;
  std::int64_t chunk = 0;
  std::int64_t block = 0;
  std::int64_t split = 0;

  friend bool operator==(const verdict_scope&, const verdict_scope&) = default;
};

/// One "key=value" a line, in the order above; a value's backslashes and line
/// ends are escaped, so that equal texts are equal scopes.
std::string scope_text(const verdict_scope& scope);
/// 16 hex digits of the text: a file's name, a metric's label, a receipt.
std::string scope_id(const verdict_scope& scope);

/// 16 hex digits over all bytes of the running program's file; where that
/// cannot be read, "unreadable", which stored verdicts never match.
std::string program_fingerprint();
/// The processor's name as the system gives it, or "unknown".
std::string processor_name();

}  // namespace vouch::engine
