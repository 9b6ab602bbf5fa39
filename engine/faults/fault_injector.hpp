#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "engine/faults/fault_plan.hpp"

namespace vouch::engine {

/// Plants the faults of a plan in the steps of one executor. Changes an op's
/// rows in place, so that every op behind it computes with them.
class fault_injector final : public op_points {
 public:
  explicit fault_injector(std::shared_ptr<const fault_plan> plan);

  /// A step begins: its rows, in order. Counts it.
  void begin_step(std::span<const fault_row> rows);

  void before_kv_write(const op_output& standing) override;
  void after(const op_output& made) override;

  /// Whether a fault outside of the forward pass hits this row of the step;
  /// then the row counts as faulted. Not while another thread calls it for the
  /// same row.
  bool hits(fault_site site, std::int64_t row);

  /// Rows of the step that a fault changed so far.
  std::int64_t faulted_rows() const;

 private:
  using bytes = std::vector<std::byte>;
  /// A fault in an op of the forward pass.
  struct planted {
    const fault_spec* spec;
    model_op op;
    fault_effect effect;
    /// By row of the step; empty where no row is hit.
    std::vector<char> rows;

    bool covers(const op_output& made) const;
  };

  void change_rows(const planted& fault, const op_output& made);
  void change_row(const planted& fault, const op_output& made,
                  std::int64_t index);
  void exchange(const op_output& made, std::int64_t index);
  void make_stale(const op_output& made, std::int64_t index);
  void remember(const op_output& made);
  bytes read(const op_output& made, std::int64_t index) const;

  std::shared_ptr<const fault_plan> plan_;
  std::vector<planted> planted_;
  std::uint64_t steps_ = 0;

  // One step's.
  std::vector<fault_row> rows_;
  std::vector<char> faulted_;
  /// K and V that stood where one layer's were to be stored, by row; empty for
  /// rows that are not to be kept or where nothing stood.
  std::vector<bytes> standing_;

  /// What the step before left, by op and layer: [rows][row_bytes].
  std::map<std::pair<model_op, std::int32_t>, bytes> before_;
};

}  // namespace vouch::engine
