#pragma once

#include <cstddef>
#include <list>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "engine/executor/device_drafter.hpp"
#include "engine/models/dflash.hpp"

namespace vouch::engine {

struct dflash_drafter_options {
  /// What contexts may take, those that are kept for others included. A
  /// sequence whose context has no room is not drafted for any more.
  std::size_t context_bytes = std::size_t{1} << 30;
  /// Contexts of ended sequences that are kept.
  std::size_t kept_contexts = 16;
  /// Rows whose taps wait, of all slots together, so that the weights are read
  /// once for them; fewer are appended when a draft needs them. Changes no byte
  /// of a context.
  std::int64_t waiting_rows = 16;
  /// For logs and for the gate's scope.
  std::string name;
  std::string fingerprint;
};

/// Runs a DFlash model beside the target: appends every step's taps to the
/// slots' contexts and drafts a block from each.
///
/// A sequence whose first rows come from the prefix cache, and so were never
/// tapped, takes them from a context of the same tokens, where one is open or
/// still kept; else its context starts cold behind them. Which of the two can
/// change drafts, never text.
class dflash_drafter : public device_drafter {
 public:
  dflash_drafter(std::unique_ptr<dflash> weights,
                 dflash_drafter_options options);

  drafter_kind kind() const override { return drafter_kind::dflash; }
  int max_width() const override;
  std::string description() const override;
  std::string fingerprint() const override { return options_.fingerprint; }
  std::span<const std::int32_t> taps() const override {
    return weights_->taps();
  }
  std::size_t context_bytes() const override;

  void open(slot_id slot) override;
  void release(slot_id slot) override;
  void after_step(std::span<const stepped_rows> items,
                  kernels::thread_pool& pool) override;
  void propose(std::span<device_draft_job> jobs, model& target,
               kernels::thread_pool& pool) override;

  /// The slot's, for tests; nullptr when it has none. Rows may wait, until the
  /// next proposal.
  const dflash_context* context_of(slot_id slot) const;

 private:
  struct sequence {
    bool open = false;
    /// Its context had no room.
    bool full = false;
    std::optional<dflash_context> context;
    /// Of the context's rows, and of those that wait behind them.
    std::vector<token_id> tokens;
    /// Taps of the rows that wait.
    std::vector<float> waiting;

    void start_anew();
  };

  sequence* find(slot_id slot);
  std::int64_t waiting_rows(const sequence& state) const;
  /// The position behind the rows that wait.
  std::int64_t end(const sequence& state) const;
  /// Forgets the positions from `position` on.
  void cut(sequence& state, std::int64_t position);
  /// Makes the slot's rows end at the rows' position.
  void make_ready(sequence& state, const stepped_rows& rows,
                  kernels::thread_pool& pool);
  /// Appends what waits. When it throws, those that waited start anew.
  void append_waiting(kernels::thread_pool& pool);
  /// A context of exactly these tokens from another's; nothing when none
  /// begins with them.
  std::optional<dflash_context> borrow(std::span<const token_id> tokens) const;
  void keep_within_limit();
  void propose_one(device_draft_job& job, model& target,
                   kernels::thread_pool& pool);

  std::unique_ptr<dflash> weights_;
  dflash_drafter_options options_;
  /// Floats of one row's taps.
  std::int64_t row_size_;
  std::vector<sequence> slots_;
  /// The latest first.
  std::list<sequence> kept_;
};

}  // namespace vouch::engine
