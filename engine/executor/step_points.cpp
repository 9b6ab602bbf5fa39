#include "engine/executor/step_points.hpp"

#include <utility>

namespace vouch::engine {

step_points::step_points(std::shared_ptr<const fault_plan> faults) {
  plant(std::move(faults));
}

void step_points::observe(executor::op_observer observer) {
  observer_ = std::move(observer);
}

void step_points::plant(std::shared_ptr<const fault_plan> faults) {
  faults_ = faults == nullptr || faults->empty()
                ? nullptr
                : std::make_unique<fault_injector>(std::move(faults));
}

void step_points::begin_step(step_id step) {
  step_ = step;
  rows_.clear();
  slots_.clear();
  items_ = 0;
}

void step_points::add_item(const step_item& item, std::size_t known) {
  if (!needed()) return;
  ++items_;
  const auto rows = static_cast<std::int32_t>(item.tokens.size());
  for (std::int32_t i = 0; i < rows; ++i) {
    fault_row row;
    row.batch_row = static_cast<std::int64_t>(rows_.size());
    row.item_rows = rows;
    row.item_row = i;
    row.position = item.position + i;
    row.phase = item.kind;
    row.rewritten = item.position + i < static_cast<std::int64_t>(known);
    rows_.push_back(row);
    slots_.push_back(item.slot);
  }
}

op_points* step_points::ready() {
  if (!needed()) return nullptr;
  for (auto& row : rows_) {
    row.rows = static_cast<std::int64_t>(rows_.size());
    row.items = items_;
    row.mixed_rows = items_ > 1 ? row.rows : 0;
  }
  if (faults_ != nullptr) faults_->begin_step(rows_);
  return this;
}

void step_points::before_kv_write(const op_output& standing) {
  if (faults_ != nullptr) faults_->before_kv_write(standing);
}

void step_points::after(const op_output& made) {
  if (faults_ != nullptr) faults_->after(made);
  if (observer_ == nullptr) return;
  row_.resize(made.row_bytes());
  for (std::int64_t i = 0; i < made.rows(); ++i) {
    made.read(i, row_.data());
    const auto row = static_cast<std::size_t>(made.step_row(i));
    observer_({step_, made.op(), made.layer(), slots_[row],
               static_cast<std::int32_t>(rows_[row].position), made.format(),
               row_});
  }
}

}  // namespace vouch::engine
