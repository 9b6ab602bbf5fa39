// Room for sequences that grow.
#include <algorithm>
#include <tuple>

#include "engine/schedule/state.hpp"

namespace vouch::engine {

bool scheduler::impl::can_take(const sequence& s) const {
  return s.unclaimed() > 0 || available() > 0;
}

/// Never the oldest, so that it always ends and memory comes back; never one
/// with a reservation, which was promised.
sequence* scheduler::impl::victim() {
  const auto oldest = std::min_element(
      running.begin(), running.end(), [](const sequence* a, const sequence* b) {
        return a->arrival < b->arrival;
      });
  const auto rank = [&](const sequence& s) {
    std::int64_t first = 0;
    if (rules.preempt.victim == preempt_victim::lowest_priority) {
      first = rules.order.low_priority_value_first ? s.priority
                                                   : -std::int64_t{s.priority};
    } else if (rules.preempt.victim == preempt_victim::largest) {
      first = s.held();
    }
    return std::tuple{first, s.arrival};
  };
  sequence* worst = nullptr;
  for (sequence* s : running) {
    if (s == *oldest || s->reserved > 0) continue;
    if (worst == nullptr || rank(*s) > rank(*worst)) worst = s;
  }
  return worst;
}

bool scheduler::impl::make_room(sequence& s) {
  while (!can_take(s)) {
    if (drop_holds()) continue;
    // Blocks that a step in flight still uses are on their way.
    if (!graves.empty()) return false;
    if (!lent_blocks.empty()) {
      wants_loans = true;
      return false;
    }
    sequence* gone = victim();
    if (gone == nullptr) return false;
    preempt(*gone);
    if (gone == &s) return false;
  }
  return true;
}

/// Back to the queue with its tokens. A pick that is still in flight is
/// dropped: the row is computed again and picks the same.
void scheduler::impl::preempt(sequence& s, bool keep_in_cache) {
  give_back(s, keep_in_cache);
  ++s.epoch;
  s.scheduled = 0;
  s.computed = 0;
  s.prefill_end = 0;
  s.outstanding = 0;
  s.verifying = 0;
  s.offered.clear();
  if (!s.prompt_done) s.prompt_scores.clear();
  s.preempted = true;
  const auto place = std::lower_bound(waiting.begin(), waiting.end(), &s,
                                      [](const sequence* a, const sequence* b) {
                                        return a->arrival < b->arrival;
                                      });
  waiting.insert(place, &s);
  ++counters.preemptions;
}

}  // namespace vouch::engine
