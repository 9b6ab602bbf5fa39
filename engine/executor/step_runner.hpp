#pragma once

#include <cstddef>
#include <exception>
#include <memory>
#include <utility>
#include <vector>

#include "engine/executor/drafter_host.hpp"
#include "engine/executor/executor.hpp"
#include "engine/executor/kv_arena.hpp"
#include "engine/executor/slot_table.hpp"
#include "engine/executor/step_points.hpp"

namespace vouch::engine {

/// Runs one step after the other on the calling thread and a pool: everything
/// of the CPU executor but its queue.
class step_runner {
 public:
  step_runner(std::shared_ptr<model> weights,
              const cpu_executor_options& options,
              const executor_limits& limits);

  slot_table& slots() { return slots_; }
  void open(slot_start start);
  void release(slot_id slot);
  const kv_arena& kv() const { return kv_; }
  step_points& points() { return points_; }
  void observe_logits(executor::logits_observer observer);
  kv_hashes hash_kv(const kv_range& range);

  /// Something went wrong outside of a step: the next step fails with it.
  void note_failure(std::exception_ptr error) { failure_ = std::move(error); }

  /// Bytes kept for logits between steps.
  std::size_t logits_bytes() const { return logits_.size() * sizeof(float); }

  /// What goes wrong is in the result.
  step_result run(const step& work);
  draft_result draft(const draft_batch& work);

 private:
  /// A row that has logits, and what is to be made of them.
  struct logits_row {
    std::size_t item;
    std::int32_t row;
    picked_token picked;
    std::string error;
    std::uint64_t hash = 0;
    logits_state state = logits_state::sound;
  };

  void run_checked(const step& work, step_result& result);
  void compute(const step& work, step_result& result);
  /// Writes the items' tokens into their slots and flattens them.
  void lay_out(const step& work, step_result& result);
  void finish_row(const step& work, std::size_t index);
  picked_token pick_row(const step_item& item, std::size_t index,
                        std::span<const float> logits);
  void collect(const step& work, step_result& result);
  static void collect_row(const step_item& item, logits_row& row,
                          step_item_result& out);

  std::shared_ptr<model> weights_;
  executor_limits limits_;
  std::int64_t vocab_size_;
  kernels::thread_pool pool_;
  kv_arena kv_;
  slot_table slots_;
  drafter_host drafting_;
  bool profile_;
  step_points points_;
  kernels::kernel_plan plan_;
  executor::logits_observer observer_;

  // One step's, kept for their memory.
  std::vector<token_id> tokens_;
  std::vector<std::int32_t> positions_;
  std::vector<kernels::attention_rows> sequences_;
  std::vector<std::int32_t> logits_indexes_;
  std::vector<logits_row> logits_rows_;
  std::vector<float> logits_;
  /// Rows of this step score tokens of a prompt.
  bool scores_ = false;

  std::exception_ptr failure_;
};

}  // namespace vouch::engine
