#include "engine/drafters/overwritten_drafter.hpp"

#include <algorithm>
#include <utility>

namespace vouch::engine {

overwritten_drafter::overwritten_drafter(std::shared_ptr<device_drafter> live,
                                         std::shared_ptr<const drafter> script)
    : live_{std::move(live)}, script_{std::move(script)} {}

int overwritten_drafter::max_width() const {
  return std::min(live_->max_width(), script_->max_width());
}

std::string overwritten_drafter::description() const {
  return std::string{name_of(script_->kind())} + " over " +
         live_->description();
}

void overwritten_drafter::open(slot_id slot) {
  if (slot < 0) return;
  live_->open(slot);
  const auto index = static_cast<std::size_t>(slot);
  if (index >= scripts_.size()) scripts_.resize(index + 1);
  scripts_[index] = script_->open();
}

void overwritten_drafter::release(slot_id slot) {
  live_->release(slot);
  const auto index = static_cast<std::size_t>(slot);
  if (slot >= 0 && index < scripts_.size()) scripts_[index].reset();
}

void overwritten_drafter::propose(std::span<device_draft_job> jobs,
                                  model& target, kernels::thread_pool& pool) {
  live_->propose(jobs, target, pool);
  for (auto& job : jobs) {
    const auto index = static_cast<std::size_t>(job.slot);
    if (!job.problem.empty() || job.slot < 0 || index >= scripts_.size() ||
        !scripts_[index]) {
      continue;
    }
    std::vector<token_id> history(job.history.begin(), job.history.end());
    history.push_back(job.anchor);
    job.result = scripts_[index]->propose(history, job.width);
  }
}

}  // namespace vouch::engine
