#pragma once

#include <array>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>

#include "engine/executor/step.hpp"
#include "engine/models/op_points.hpp"

namespace vouch::engine {

/// Where a fault lies: in an op of the forward pass, or in one of the places
/// outside of it that real systems got wrong.
enum class fault_site : std::uint8_t {
  model,
  /// After a rejected draft the next anchor's K and V are not stored.
  rollback,
  /// A verify row's noise is that of the position behind it.
  sampler_position,
  /// A verify row's penalties do not see the drafts before it.
  penalties,
  /// Verify blocks of any width but `most` get ulps on their logits.
  width,
  /// A hit maps a wrong block, or one block too many.
  prefix_cache,
  /// A preempted sequence resumes without recomputing its last block.
  preemption,
  /// A stop token inside an accepted run is not noticed.
  stop
};
inline constexpr std::array<std::string_view, 8> fault_site_names{
    "model", "rollback",     "sampler_position", "penalties",
    "width", "prefix_cache", "preemption",       "stop"};

/// Numbers a row is chosen by, in the order of the text form.
enum class fault_key : std::uint8_t {
  layer,
  /// Rows of the step.
  rows,
  /// Rows of the step where it has two items or more, else 0.
  mixed_rows,
  /// Items of the step: sequences.
  items,
  /// Index of the row in the step.
  batch_row,
  /// Rows of the row's item.
  item_rows,
  /// Index of the row in its item.
  item_row,
  position
};
inline constexpr std::array<std::string_view, 8> fault_key_names{
    "layer",     "rows",      "mixed_rows", "items",
    "batch_row", "item_rows", "item_row",   "position"};

struct fault_range {
  std::int64_t low = 0;
  std::int64_t high = std::numeric_limits<std::int64_t>::max();

  bool holds(std::int64_t value) const { return low <= value && value <= high; }
  bool operator==(const fault_range&) const = default;
};

enum class fault_effect : std::uint8_t {
  /// What the site does; the sites outside of the model have one each.
  own,
  ulp,
  stale,
  zero,
  nan,
  swap,
  /// Of prefix_cache.
  wrong_block,
  extra_block
};
inline constexpr std::array<std::string_view, 8> fault_effect_names{
    "own", "ulp", "stale", "zero", "nan", "swap", "wrong_block", "extra_block"};
inline constexpr std::array<std::string_view, 3> fault_phase_names{
    "prefill", "decode", "verify"};

/// One row of a step, or one event outside of the model, as conditions see it.
struct fault_row {
  /// Counted from 1 since the plan was set.
  std::uint64_t step = 0;
  std::int64_t rows = 0;
  std::int64_t mixed_rows = 0;
  std::int64_t items = 0;
  std::int64_t batch_row = 0;
  std::int64_t item_rows = 0;
  std::int64_t item_row = 0;
  std::int64_t position = 0;
  row_kind phase = row_kind::decode;
  /// The slot had computed a row at this position before, of a draft that was
  /// rejected.
  bool rewritten = false;
};

/// One fault: where, when, what. docs/faults.md has the text form.
struct fault_spec {
  fault_site site = fault_site::model;
  /// Where the site is the model.
  model_op op = model_op::norm;
  /// By fault_key.
  std::array<fault_range, fault_key_names.size()> ranges;
  std::optional<row_kind> phase;
  bool after_rollback = false;
  /// Of the steps behind the first `after_step`, every `every`th, from the
  /// first on.
  std::uint64_t after_step = 0;
  std::uint64_t every = 1;

  fault_effect effect = fault_effect::own;
  /// Added to each number, or to one.
  std::int64_t ulps = 0;
  std::optional<std::int64_t> element;
  /// Of fault_site::width: the width that is spared.
  std::int64_t most = 0;

  const fault_range& range(fault_key key) const {
    return ranges[static_cast<std::size_t>(key)];
  }
  /// Whether everything but the op and its layer holds.
  bool matches(const fault_row& row) const;
  /// The text form, in one spelling.
  std::string text() const;

  bool operator==(const fault_spec&) const = default;
};

/// Reads "op=rope_query layer=3 rows>=2 ulp=1". Throws std::invalid_argument,
/// which names the key.
fault_spec parse_fault(std::string_view text);

}  // namespace vouch::engine
