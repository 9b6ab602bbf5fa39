#include "engine/models/op_points.hpp"

#include <algorithm>
#include <cstring>
#include <iterator>

#include "kernels/quantize_row.hpp"

namespace vouch::engine {

std::optional<model_op> model_op_of(std::string_view name) {
  const auto* const found =
      std::find(model_op_names.begin(), model_op_names.end(), name);
  if (found == model_op_names.end()) return std::nullopt;
  return static_cast<model_op>(std::distance(model_op_names.begin(), found));
}

op_output::op_output(const forward_rows& step, model_op op, std::int32_t layer,
                     float* data, std::int64_t width)
    : step_{step},
      op_{op},
      layer_{layer},
      row_bytes_{static_cast<std::size_t>(width) * sizeof(float)},
      data_{reinterpret_cast<std::byte*>(data)} {}

op_output::op_output(const forward_rows& step, model_op op, std::int32_t layer,
                     kernels::activations& data)
    : op_output{step, op, layer, data.made(), data.in()} {
  if (auto* const blocks = data.blocks(); blocks != nullptr) {
    format_ = row_format::blocks;
    row_bytes_ =
        static_cast<std::size_t>(data.in() / kernels::quant_block_elements) *
        sizeof *blocks;
    data_ = reinterpret_cast<std::byte*>(blocks);
  }
}

op_output::op_output(const forward_rows& step, std::int32_t layer,
                     const kv_memory& kv)
    : step_{step},
      op_{model_op::kv_write},
      layer_{layer},
      format_{kv.layout.type == kernels::dtype::f16 ? row_format::f16
                                                    : row_format::f32},
      row_bytes_{2 * kernels::row_bytes(kv.layout.type,
                                        std::int64_t{kv.layout.kv_heads} *
                                            kv.layout.head_dim)},
      kv_{&kv} {}

std::int64_t op_output::rows() const {
  const bool head = op_ == model_op::final_norm || op_ == model_op::logits;
  return static_cast<std::int64_t>(head ? step_.logits_rows.size()
                                        : step_.tokens.size());
}

std::int64_t op_output::step_row(std::int64_t index) const {
  const bool head = op_ == model_op::final_norm || op_ == model_op::logits;
  return head ? step_.logits_rows[static_cast<std::size_t>(index)] : index;
}

const kernels::attention_rows& op_output::sequence_of(
    std::int64_t index) const {
  return *std::prev(std::upper_bound(
      step_.sequences.begin(), step_.sequences.end(), index,
      [](std::int64_t row, const kernels::attention_rows& sequence) {
        return row < sequence.first_row;
      }));
}

void op_output::read(std::int64_t index, std::byte* row) const {
  if (data_ != nullptr) {
    std::memcpy(row, data_ + static_cast<std::size_t>(index) * row_bytes_,
                row_bytes_);
    return;
  }
  kernels::kv_read(kv_->layout, kv_->layer(layer_),
                   sequence_of(index).block_table,
                   step_.positions[static_cast<std::size_t>(index)], row,
                   row + row_bytes_ / 2);
}

void op_output::write(std::int64_t index, const std::byte* row) const {
  if (data_ != nullptr) {
    std::memcpy(data_ + static_cast<std::size_t>(index) * row_bytes_, row,
                row_bytes_);
    return;
  }
  kernels::kv_restore(kv_->layout, kv_->layer(layer_),
                      sequence_of(index).block_table,
                      step_.positions[static_cast<std::size_t>(index)], row,
                      row + row_bytes_ / 2);
}

}  // namespace vouch::engine
