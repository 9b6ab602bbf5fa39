#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "engine/bisect/bisect_case.hpp"
#include "engine/executor/executor.hpp"
#include "engine/models/op_points.hpp"

namespace vouch::engine {

/// How a case is played: its steps as they are, or each of their rows that is
/// kept in a step of its own, alone.
enum class bisect_arm : std::uint8_t { blocks, rows };

/// Row `row` of item `item` of step `step`.
struct bisect_place {
  std::size_t step = 0;
  std::size_t item = 0;
  std::int64_t row = 0;
  friend bool operator==(const bisect_place&, const bisect_place&) = default;
};

/// What a kept row showed.
struct played_row {
  bisect_place at;
  std::size_t sequence = 0;
  std::int64_t position = 0;
  std::optional<std::uint64_t> logits;
  logits_state state = logits_state::sound;
  /// -1: no pick.
  token_id pick = -1;
  std::uint64_t kv = 0;
};

/// What one op made of the captured row.
struct captured_op {
  model_op op = model_op::norm;
  std::int32_t layer = -1;
  std::vector<std::byte> bytes;
};

struct played_arm {
  /// In the case's order.
  std::vector<played_row> rows;
  /// K and V of each sequence's kept positions as they stand at the end; only
  /// where it was played to its end.
  std::vector<std::vector<std::uint64_t>> kv_at_end;
  /// In the order of the forward pass.
  std::vector<captured_op> captured;
  std::int64_t steps = 0;
  std::int64_t faulted_rows = 0;
  /// Not empty: a step could not be computed.
  std::string error;
};

/// Plays a case on an executor that nobody used before. With `capture` every op
/// of that row is kept, and it ends there.
played_arm play(executor& device, const bisect_case& of, bisect_arm arm,
                const std::optional<bisect_place>& capture = {});

}  // namespace vouch::engine
