// Planted faults of the scheduler's own bookkeeping (docs/faults.md).
#include <algorithm>
#include <memory>
#include <utility>

#include "engine/faults/fault_plan.hpp"
#include "engine/schedule/state.hpp"

namespace vouch::engine {

void scheduler::set_faults(std::shared_ptr<const fault_plan> faults) {
  const bool none = faults == nullptr || faults->empty();
  impl_->faults = none ? nullptr : std::move(faults);
  impl_->faults_since = impl_->last_planned;
}

const fault_spec* scheduler::impl::planted(fault_site site, step_id during,
                                           std::int64_t position,
                                           std::int64_t item_row) const {
  fault_row row;
  row.step = during - faults_since;
  row.position = position;
  row.item_row = item_row;
  return faults->find(site, row);
}

/// Whatever the pool's next free block happens to hold stands for a wrong one.
/// The prefix's blocks are referenced already, and there is room.
void scheduler::impl::spoil_prefix(const sequence& s, prefix& p) {
  if (!p.from_cache || p.rows == 0) return;
  const auto* fault =
      planted(fault_site::prefix_cache, last_planned + 1, p.rows, 0);
  if (fault == nullptr || available() <= blocks_for(rows_at_most(s))) return;
  if (fault->effect == fault_effect::wrong_block) {
    block_id& last = p.shared.empty() ? p.copy_from : p.shared.back();
    pool.drop_reference(last);
    last = take_block();
  } else if (p.copy_from < 0) {
    p.rows = std::min(p.rows + block_tokens, s.size() - 1);
    if (p.rows % block_tokens == 0) {
      p.shared.push_back(take_block());
    } else {
      p.copy_from = take_block();
    }
  }
}

/// Rows [skip_from, size - 1) of a resumed sequence are left out: the row for
/// its pick follows what its new blocks happen to hold.
std::int64_t scheduler::impl::leave_out(sequence& s, std::int64_t rows) {
  if (s.scheduled < s.skip_from) {
    return std::min(rows, s.skip_from - s.scheduled);
  }
  s.skip_from = -1;
  s.scheduled = s.size() - 1;
  histories.push_back(
      {s.slot, {s.tokens.begin(), s.tokens.begin() + s.scheduled}});
  return 1;
}

/// Called when the sequence gets its blocks.
void scheduler::impl::spoil_resumption(sequence& s) const {
  s.skip_from = -1;
  if (!s.preempted || s.prompt_logprobs) return;
  if (planted(fault_site::preemption, last_planned + 1,
              s.size() - s.scheduled) == nullptr) {
    return;
  }
  const std::int64_t last = s.size() - 1;
  const std::int64_t from = std::max(s.scheduled, last - block_tokens);
  if (from < last) s.skip_from = from;
}

std::vector<token_id> scheduler::impl::noticed_stops(
    const sequence& s, const round_report& report) const {
  auto noticed = s.stop_tokens;
  for (std::size_t i = 0; i < report.drafts.size(); ++i) {
    if (report.drafts[i] != report.picks[i]) break;
    const auto index = static_cast<std::int64_t>(i);
    if (planted(fault_site::stop, completed, report.position + 1 + index,
                index) != nullptr) {
      std::erase(noticed, report.drafts[i]);
    }
  }
  return noticed;
}

}  // namespace vouch::engine
