// Who is admitted next.
#include <algorithm>

#include "engine/schedule/state.hpp"

namespace vouch::engine {

bool scheduler::impl::eligible(const sequence& s) const {
  if (s.sibling_of == 0) return true;
  const auto leader = all.find(s.sibling_of);
  return leader == all.end() || leader->second->prompt_done;
}

bool scheduler::impl::aged(const sequence& s) const {
  return last_planned - s.added_step >=
         static_cast<std::uint64_t>(rules.order.ageing);
}

bool scheduler::impl::is_long(std::int64_t rows) const {
  return rows > rules.prefill.long_prompt_tokens;
}

std::int64_t scheduler::impl::cost(const sequence& s) const {
  // A sibling shares its leader's prompt.
  return s.sibling_of != 0 ? 1 : s.prompt_tokens;
}

namespace {

/// Smaller goes first.
std::int64_t order_key(const policy& rules, const sequence& s) {
  switch (rules.order.by) {
    case order_by::priority:
      return rules.order.low_priority_value_first ? s.priority
                                                  : -std::int64_t{s.priority};
    case order_by::shortest_prompt:
      return s.prompt_tokens;
    default:
      return 0;
  }
}

}  // namespace

sequence* scheduler::impl::next_candidate(
    const std::vector<const sequence*>& skip, bool short_only) const {
  sequence* resumed = nullptr;
  sequence* oldest_aged = nullptr;
  sequence* best = nullptr;
  std::map<std::string, std::int64_t> costs;
  std::map<std::string, sequence*> heads;
  for (sequence* s : waiting) {
    if (short_only && is_long(s->size())) continue;
    if (!eligible(*s)) continue;
    if (std::find(skip.begin(), skip.end(), s) != skip.end()) continue;
    if (s->preempted) {
      resumed = s;
      break;
    }
    if (oldest_aged == nullptr && aged(*s)) oldest_aged = s;
    if (oldest_aged != nullptr) continue;
    if (rules.order.by == order_by::fair) {
      if (heads.emplace(s->tenant, s).second) costs[s->tenant] = cost(*s);
    } else if (best == nullptr ||
               order_key(rules, *s) < order_key(rules, *best)) {
      best = s;
    }
  }
  // Waiting is by arrival, so each of these is the oldest of its kind.
  if (resumed != nullptr) return resumed;
  if (oldest_aged != nullptr) return oldest_aged;
  if (!heads.empty()) return heads.at(shares.next(costs));
  return best;
}

void scheduler::impl::count_queued(const sequence& s, int by) {
  if (s.follows) return;
  queued += by;
  queued_tokens += by * s.prompt_tokens;
}

void scheduler::impl::charge_admission(const sequence& s) {
  // What next_candidate saw, for the rounds that the turn took. An aged or
  // resumed sequence is charged without a turn.
  if (rules.order.by != order_by::fair) return;
  if (aged(s)) {
    shares.charge(s.tenant, cost(s));
    return;
  }
  std::map<std::string, std::int64_t> costs;
  for (const sequence* w : waiting) {
    if (!w->preempted && eligible(*w)) costs.emplace(w->tenant, cost(*w));
  }
  costs[s.tenant] = cost(s);
  shares.serve(s.tenant, costs);
}

}  // namespace vouch::engine
