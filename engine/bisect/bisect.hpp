#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "engine/bisect/bisect_case.hpp"
#include "engine/bisect/play.hpp"

namespace vouch::engine {

/// The first kept row whose bytes are not those of the row alone.
struct bisect_difference {
  /// Meaningless where `what` is "kv at the end".
  bisect_place at;
  std::size_t sequence = 0;
  std::int64_t position = 0;
  row_kind kind = row_kind::verify;
  /// Rows of its item, of its step, and items of the step.
  std::int64_t item_rows = 0;
  std::int64_t step_rows = 0;
  std::int64_t items = 0;
  /// "logits", "kv", "pick", "kv at the end", "logits hold a NaN".
  std::string what;
};

/// One op of that row, in both arms.
struct bisect_op {
  model_op op = model_op::norm;
  std::int32_t layer = -1;
  std::int64_t differing_bytes = 0;
  std::int64_t total_bytes = 0;
};

struct bisect_report {
  std::int64_t rows = 0;
  std::int64_t logits_rows = 0;
  /// Steps with blocks, and rows alone.
  std::int64_t block_steps = 0;
  std::int64_t row_steps = 0;
  std::int64_t faulted_rows = 0;
  std::optional<bisect_difference> first;
  /// In the order of the forward pass; empty where nothing was captured.
  std::vector<bisect_op> ops;
  /// Index of the first of them that differs.
  std::optional<std::size_t> first_op;
  /// The captured runs gave other bytes than those before them.
  bool capture_changed = false;
  /// Rows by which that was seen.
  std::int64_t capture_rows = 0;
  /// Of evidence: the served bytes came out again, and the classic ones.
  std::optional<bool> served_again;
  std::optional<bool> classic_again;
  /// Not empty: it could not be played.
  std::string error;
};

/// Makes an executor that nobody used, with the same faults every time.
using executor_maker = std::function<std::unique_ptr<executor>()>;

/// Plays a case as blocks and as rows, each on an executor of its own; where
/// they differ, both again with the first such row captured.
bisect_report bisect(const executor_maker& make, const bisect_case& of);

}  // namespace vouch::engine
