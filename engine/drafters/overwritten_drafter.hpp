#pragma once

#include <memory>
#include <string>
#include <vector>

#include "engine/executor/device_drafter.hpp"

namespace vouch::engine {

/// Lets a drafter run as if it were used (taps, contexts, proposals) and then
/// puts a script's drafts in place of its own: so its state moves after every
/// number of accepted drafts, for tests and for pricing. Where it has a problem
/// there are no drafts.
class overwritten_drafter : public device_drafter {
 public:
  /// `script` must need no device: lookup or scripted.
  overwritten_drafter(std::shared_ptr<device_drafter> live,
                      std::shared_ptr<const drafter> script);

  drafter_kind kind() const override { return script_->kind(); }
  int max_width() const override;
  std::string description() const override;
  std::string fingerprint() const override { return live_->fingerprint(); }
  std::span<const std::int32_t> taps() const override { return live_->taps(); }
  std::size_t context_bytes() const override { return live_->context_bytes(); }

  void open(slot_id slot) override;
  void release(slot_id slot) override;
  void after_step(std::span<const stepped_rows> items,
                  kernels::thread_pool& pool) override {
    live_->after_step(items, pool);
  }
  void propose(std::span<device_draft_job> jobs, model& target,
               kernels::thread_pool& pool) override;

 private:
  std::shared_ptr<device_drafter> live_;
  std::shared_ptr<const drafter> script_;
  /// By slot; null where none is open.
  std::vector<std::unique_ptr<sequence_drafter>> scripts_;
};

}  // namespace vouch::engine
