#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "engine/executor/executor.hpp"
#include "engine/faults/fault_injector.hpp"

namespace vouch::engine {

/// What looks at, and what spoils, the ops of an executor's steps: planted
/// faults first, so that an observer sees what the next op computes with. With
/// neither of them it costs nothing.
class step_points final : public op_points {
 public:
  explicit step_points(std::shared_ptr<const fault_plan> faults);

  void observe(executor::op_observer observer);
  void plant(std::shared_ptr<const fault_plan> faults);

  /// A step's rows, item by item as they are laid out. `known`: tokens that
  /// the slot held before, those of rejected drafts included.
  void begin_step(step_id step);
  void add_item(const step_item& item, std::size_t known);
  /// After the last item; what the forward pass gets, or nullptr.
  op_points* ready();

  void before_kv_write(const op_output& standing) override;
  void after(const op_output& made) override;

  /// Whether a fault of the picks hits a row of the step (fault_injector).
  bool hits(fault_site site, std::int64_t row) {
    return faults_ != nullptr && faults_->hits(site, row);
  }
  std::int64_t faulted_rows() const {
    return faults_ == nullptr ? 0 : faults_->faulted_rows();
  }

 private:
  bool needed() const { return faults_ != nullptr || observer_ != nullptr; }

  std::unique_ptr<fault_injector> faults_;
  executor::op_observer observer_;

  // One step's.
  step_id step_ = 0;
  std::vector<fault_row> rows_;
  std::vector<slot_id> slots_;
  std::int64_t items_ = 0;
  std::vector<std::byte> row_;
};

}  // namespace vouch::engine
