#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "engine/executor/device_drafter.hpp"
#include "engine/executor/kv_arena.hpp"

namespace vouch::engine {

struct model_drafter_options {
  /// Sequences that can be open at once.
  std::int32_t slots = 64;
  /// Tokens of context of one sequence; 0: the draft model's own limit.
  std::int32_t context = 0;
  kernels::dtype kv_type = kernels::dtype::f16;
  /// What K and V of all slots may take; memory is taken as it is needed.
  std::size_t kv_bytes = std::size_t{1} << 30;
  /// Tokens of prompts that one call computes, so that a long prompt delays
  /// nobody for long.
  std::int32_t catch_up = 512;
  /// For logs and for the gate's scope.
  std::string name;
  std::string fingerprint;
};

/// A small model with the target's vocabulary: one forward pass of all
/// sequences a drafted position. It picks as the sequence does, with the same
/// parameters and noise, so greedily for a greedy one; the nearer it is to the
/// target, the oftener they agree, at any temperature.
///
/// It needs no taps: before it drafts it computes the tokens of the slot's
/// history that it has not seen, and proposes nothing until it has caught up.
/// Rows it computed for other tokens (rejected drafts) are written over, so a
/// rollback is no case of its own.
class model_drafter : public device_drafter {
 public:
  /// Throws std::invalid_argument for options that leave no block of K and V.
  model_drafter(std::unique_ptr<model> weights, model_drafter_options options);

  /// Runs a token, so that the first sequence does not wait until the memory
  /// for K and V is mapped. Before any slot is open.
  void warm_up(kernels::thread_pool& pool);

  drafter_kind kind() const override { return drafter_kind::model; }
  int max_width() const override { return max_round_width; }
  std::string description() const override;
  std::string fingerprint() const override { return options_.fingerprint; }
  std::size_t context_bytes() const override;

  void open(slot_id slot) override;
  void release(slot_id slot) override;
  void after_step(std::span<const stepped_rows>,
                  kernels::thread_pool&) override {}
  void propose(std::span<device_draft_job> jobs, model& target,
               kernels::thread_pool& pool) override;

 private:
  struct sequence {
    bool open = false;
    /// Tokens whose K and V are stored, from position 0 on.
    std::vector<token_id> computed;
    std::vector<block_id> blocks;
    /// When it was drafted for last.
    std::uint64_t used = 0;
  };
  /// A job on its way.
  struct run {
    device_draft_job* job = nullptr;
    sequence* state = nullptr;
    /// Of the history and the anchor, what is not computed.
    std::int64_t missing = 0;
    /// What the next forward pass computes.
    std::vector<token_id> input;
    int drafts = 0;
  };

  bool plan(device_draft_job& job, run& out);
  /// Cuts what the runs compute to `catch_up`; who lacks little goes first.
  void share_out(std::vector<run>& runs) const;
  bool make_room(run& one);
  void drop(sequence& state);
  /// Computes the runs' inputs; logits of the last rows of those that have
  /// caught up, in order.
  void forward(std::vector<run>& runs, kernels::thread_pool& pool);
  /// Adds a draft to each run from its logits, and drops those that are done.
  void take_drafts(std::vector<run>& runs, kernels::thread_pool& pool);

  std::unique_ptr<model> weights_;
  model_drafter_options options_;
  std::int32_t context_;
  kv_arena kv_;
  std::vector<block_id> free_;
  std::vector<sequence> slots_;
  std::uint64_t calls_ = 0;
  std::vector<float> logits_;
};

}  // namespace vouch::engine
