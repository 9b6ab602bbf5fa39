#pragma once

#include <functional>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "tests/engine/row_contract/reference_rows.hpp"

namespace vouch::test {

/// Faults that lie in the steps; those in the arithmetic are models
/// (faults.hpp).
struct step_faults {
  /// A partly shared block is not copied before it is written behind.
  bool forget_copies = false;
  /// A preempted sequence comes back with one block that is somebody else's.
  bool stale_block_after_resume = false;
};

struct mix_options {
  int threads = 2;
  kernels::dtype kv_type = kernels::dtype::f16;
  std::uint32_t seed = 1;
  step_faults faults;
  kernels::kernel_plan plan = kernels::kernel_plan::invariant;
};

/// What a mix compared and what happened in it.
struct mix_report {
  std::int64_t rows = 0;
  std::int64_t different_rows = 0;
  std::int64_t kv_rows = 0;
  std::int64_t different_kv_rows = 0;
  /// Where the first difference was, for people.
  std::string first;
  /// A step that the executor refused; empty.
  std::string error;

  int steps = 0;
  int shared_steps = 0;
  int cuts = 0;
  int shared_blocks = 0;
  int copied_blocks = 0;
  int preemptions = 0;
  int rollbacks = 0;
  int full_accepts = 0;

  bool equal() const {
    return error.empty() && different_rows == 0 && different_kv_rows == 0;
  }
};

/// Runs the sequences of `references` through an executor of its own, in
/// seeded random steps: cut anywhere (the borders of attention chunks
/// included), beside each other in any order, in scattered blocks, with
/// prefixes in shared and copied blocks, preempted and recomputed elsewhere,
/// as verify rows whose wrong drafts are overwritten. Compares every logits
/// row whose prefix is the sequence's, and every KV row when it is dropped and
/// at the end.
mix_report run_mix(const std::shared_ptr<engine::model>& weights,
                   const std::vector<reference_rows>& references,
                   const mix_options& options);

}  // namespace vouch::test
