#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "engine/models/model.hpp"
#include "engine/schedule/scheduler.hpp"
#include "engine/speculation/drafter.hpp"
#include "engine/speculation/width_set.hpp"
#include "engine/types.hpp"

namespace vouch::test {

/// A sequence that a run is to serve.
struct parity_sequence {
  /// Its name in the transcript.
  std::string label;
  engine::sequence_start start;
  /// Who drafts for it; nullptr: it is served classically.
  std::unique_ptr<engine::sequence_drafter> drafter;
  int width = 1;
};

/// What came of it.
struct parity_text {
  /// Generated, a stop token that ended it included.
  std::vector<engine::token_id> tokens;
  /// hash64 of the logits row behind each of them.
  std::vector<std::uint64_t> logits;
  /// hash64 of K and V of every position, when it ended.
  std::vector<std::uint64_t> kv;
  engine::finish_reason reason = engine::finish_reason::failed;
  /// Blocks that were verified, those of the sequence's whole width, their
  /// drafts, and those of the drafts that were emitted.
  std::int64_t rounds = 0;
  std::int64_t wide_rounds = 0;
  std::int64_t drafted = 0;
  std::int64_t accepted = 0;
};

struct parity_run_options {
  /// Sequences that run at once; 1: each alone, after the one before it.
  std::int32_t at_once = 1;
  /// A sequence arrives every so many steps.
  int apart = 0;
  std::int32_t blocks = 1200;
  std::int32_t chunk = 256;
  bool prefix_cache = true;
  int steps_in_flight = 1;
  engine::width_set widths;
  /// Planted for tests of the suite itself; see docs/faults.md.
  std::string faults;
};

struct parity_run {
  /// In the order of the sequences.
  std::vector<parity_text> texts;
  engine::scheduler_stats stats;
  /// Every round, as a server writes it.
  std::string transcript;
  /// Empty: everything ran.
  std::string error;
};

/// Serves the sequences with the functions that serve: the scheduler, an
/// executor of two threads, and SCHEDULER's desk, which writes the transcript.
parity_run serve(const std::shared_ptr<engine::model>& weights,
                 std::vector<parity_sequence> sequences,
                 const parity_run_options& options);

}  // namespace vouch::test
