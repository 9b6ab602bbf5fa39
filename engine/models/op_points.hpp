#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

#include "engine/models/model.hpp"
#include "kernels/activations.hpp"

namespace vouch::engine {

/// The ops of a forward pass, in the order in which they run. Those from
/// `embed` on lie outside of the layers.
enum class model_op : std::uint8_t {
  /// Before attention, in the form that the matmuls read.
  norm,
  query,
  key,
  value,
  rope_query,
  rope_key,
  /// K and V as they stand in the blocks, before attention reads them.
  kv_write,
  attention,
  /// Attention's output projection, not yet added to the residual stream.
  output,
  /// Before the gated network, in the form that the matmuls read.
  network_norm,
  gate,
  up,
  /// silu(gate) * up, in the form that the matmul reads.
  activation,
  /// Not yet added to the residual stream.
  down,
  embed,
  /// What a drafter is handed, all tapped layers of a row side by side.
  taps,
  /// Only the rows that get logits, as in `logits`.
  final_norm,
  logits
};

inline constexpr std::array<std::string_view, 18> model_op_names{
    "norm",     "query",      "key",        "value",  "rope_query",
    "rope_key", "kv_write",   "attention",  "output", "network_norm",
    "gate",     "up",         "activation", "down",   "embed",
    "taps",     "final_norm", "logits"};

constexpr std::string_view name_of(model_op op) {
  return model_op_names[static_cast<std::size_t>(op)];
}
std::optional<model_op> model_op_of(std::string_view name);
/// False for the ops that a step has once.
constexpr bool in_layers(model_op op) { return op < model_op::embed; }

/// How the numbers of a row are stored.
enum class row_format : std::uint8_t {
  f32,
  f16,
  /// kernels::activation_block: 8 bits and a scale for every 32 numbers.
  blocks
};

/// What an op made of a step's rows, to be read and to be changed in place.
class op_output {
 public:
  /// `data`: [rows][width], rows in the step's order.
  op_output(const forward_rows& step, model_op op, std::int32_t layer,
            float* data, std::int64_t width);
  /// The 8-bit form where there is one, else the floats.
  op_output(const forward_rows& step, model_op op, std::int32_t layer,
            kernels::activations& data);
  /// The K and V of the step's rows: K first, then V.
  op_output(const forward_rows& step, std::int32_t layer, const kv_memory& kv);

  model_op op() const { return op_; }
  /// -1 outside of the layers.
  std::int32_t layer() const { return layer_; }
  row_format format() const { return format_; }

  std::int64_t rows() const;
  /// Which row of the step row `index` is.
  std::int64_t step_row(std::int64_t index) const;
  std::size_t row_bytes() const { return row_bytes_; }
  /// Copies a row out, and in again. `row_bytes` bytes.
  void read(std::int64_t index, std::byte* row) const;
  void write(std::int64_t index, const std::byte* row) const;

 private:
  const kernels::attention_rows& sequence_of(std::int64_t index) const;

  const forward_rows& step_;
  model_op op_;
  std::int32_t layer_;
  row_format format_ = row_format::f32;
  std::size_t row_bytes_ = 0;
  /// Null: the rows lie in `kv_`.
  std::byte* data_ = nullptr;
  const kv_memory* kv_ = nullptr;
};

/// Sees the ops of a forward pass, on the thread that runs it and while the
/// pool rests. What it changes is what the ops after it read; who only looks
/// changes no byte.
class op_points {
 public:
  virtual ~op_points() = default;
  virtual void after(const op_output& made) = 0;
  /// What stands in the blocks where K and V are about to be stored.
  virtual void before_kv_write(const op_output& /*standing*/) {}
};

/// Shows ops to forward_rows::points; without, one comparison an op.
class op_display {
 public:
  op_display() = default;
  explicit op_display(const forward_rows& rows)
      : step_{&rows}, points_{rows.points} {}

  void show(model_op op, std::int32_t layer, float* data,
            std::int64_t width) const {
    if (points_ != nullptr) points_->after({*step_, op, layer, data, width});
  }
  void show(model_op op, std::int32_t layer, kernels::activations& data) const {
    if (points_ != nullptr) points_->after({*step_, op, layer, data});
  }
  void show_kv(std::int32_t layer, const kv_memory& kv) const {
    if (points_ != nullptr) points_->after({*step_, layer, kv});
  }
  void show_standing_kv(std::int32_t layer, const kv_memory& kv) const {
    if (points_ != nullptr) points_->before_kv_write({*step_, layer, kv});
  }

 private:
  const forward_rows* step_ = nullptr;
  op_points* points_ = nullptr;
};

}  // namespace vouch::engine
