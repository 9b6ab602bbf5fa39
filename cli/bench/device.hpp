#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "engine/executor/executor.hpp"

namespace vouch::cli::bench {

/// A sequence that is timed: a slot, blocks, and the tokens of its context.
struct sequence {
  engine::slot_id slot = -1;
  std::vector<engine::block_id> blocks;
  std::vector<engine::token_id> tokens;
  /// The input of its next step.
  engine::token_id next = 0;
};

/// An executor that is given steps one at a time, as a server with one step in
/// flight gives them.
class device {
 public:
  device(std::shared_ptr<engine::model> weights,
         const engine::cpu_executor_options& options);

  std::string description() const { return executor_->description(); }

  /// A new sequence with `tokens` before it and blocks for `capacity`
  /// positions; greedy.
  sequence open(std::vector<engine::token_id> tokens, std::int32_t capacity);
  /// The same context and the same blocks, under another slot, with sampling:
  /// never in a step with `twin`.
  sequence open_twin(const sequence& twin, float temperature, float top_p);

  /// Computes tokens [0, count) in chunks, with a pick after the last; seconds
  /// from the first submission to the pick.
  double prefill(sequence& of, std::int32_t count, std::int32_t chunk);

  /// The next step goes on after the first `position` tokens.
  void rewind(sequence& of, std::int32_t position);
  /// One row each, `steps` times from `position`; seconds a step.
  double decode(std::span<sequence> batch, std::int32_t position,
                std::int32_t steps);
  /// `width` rows with logits and picks on every row, at the same positions
  /// each time; seconds a step.
  double verify(sequence& of, std::int32_t position, std::int32_t width,
                std::int32_t steps);

  /// Of all steps since they were reset: by part, and whole.
  const engine::step_profile& profile() const { return profile_; }
  double device_seconds() const { return device_seconds_; }
  void reset_profile() {
    profile_ = {};
    device_seconds_ = 0.0;
  }

 private:
  engine::slot_id open_slot(std::size_t prompt, float temperature, float top_p);
  /// Throws std::runtime_error with what the step or an item failed with.
  engine::step_result run(std::vector<engine::step_item> items);

  std::unique_ptr<engine::executor> executor_;
  engine::step_profile profile_;
  double device_seconds_ = 0.0;
  engine::slot_id slots_ = 0;
  engine::block_id blocks_ = 0;
  engine::step_id steps_ = 0;
};

}  // namespace vouch::cli::bench
