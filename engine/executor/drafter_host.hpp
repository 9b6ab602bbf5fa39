#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "engine/executor/device_drafter.hpp"
#include "engine/executor/draft_batch.hpp"
#include "engine/executor/slot_table.hpp"
#include "engine/executor/step.hpp"

namespace vouch::engine {

/// Stands between a step runner and a drafter: gives it the taps of the steps
/// it wants to see, and keeps its failures away from them. May hold none.
class drafter_host {
 public:
  /// Throws std::invalid_argument when the drafter taps a target that hands out
  /// no hidden states.
  drafter_host(std::shared_ptr<device_drafter> drafter, const model& target,
               std::int32_t slots);

  void open(slot_id slot);
  void release(slot_id slot);

  /// Where the forward pass of these rows is to leave its taps; of no layers
  /// when nobody wants them.
  hidden_taps taps_for(const step& work, std::size_t rows);

  /// After the forward pass: `sequences` are the items whose result has no
  /// error, in order, and `tokens` their flattened input. Never throws. Returns
  /// the seconds it took.
  double after_step(const step& work, const step_result& result,
                    std::span<const kernels::attention_rows> sequences,
                    std::span<const token_id> tokens, const slot_table& slots,
                    kernels::thread_pool& pool);

  /// What goes wrong is in the result.
  draft_result draft(const draft_batch& work, const slot_table& slots,
                     model& target, kernels::thread_pool& pool);

 private:
  struct slot_note {
    bool open = false;
    /// Why its context had to start anew; told with its next proposal.
    std::string problem;
  };

  slot_note* find(slot_id slot);
  /// Runs `call`; what it throws, in words, or empty.
  template <class Call>
  std::string guarded(Call call);
  /// Starts the slot's context anew after a failure.
  void start_anew(slot_id slot, const std::string& problem);
  std::string check(const draft_item& item, const slot_state* slot);

  std::shared_ptr<device_drafter> drafter_;
  std::int64_t hidden_size_;
  std::int64_t vocab_size_;
  std::vector<slot_note> slots_;
  /// A step's: [rows][taps][hidden size].
  std::vector<float> taps_;
  std::vector<stepped_rows> items_;
};

}  // namespace vouch::engine
