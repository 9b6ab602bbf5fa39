#include "engine/schedule/fair_share.hpp"

#include <algorithm>
#include <tuple>
#include <vector>

namespace vouch::engine {

void fair_share::join(const std::string& tenant) {
  auto [it, added] = accounts_.try_emplace(tenant);
  if (added) {
    it->second.place = ++places_;
  } else if (it->second.live == 0) {
    --debtors_;
  }
  ++it->second.live;
}

void fair_share::leave(const std::string& tenant) {
  const auto it = accounts_.find(tenant);
  if (it == accounts_.end()) return;
  account& a = it->second;
  // Savings do not outlive the work they were granted for; debts do.
  if (--a.live > 0) return;
  if (a.deficit >= 0) {
    accounts_.erase(it);
  } else if (++debtors_ > max_debtors) {
    forgive_small_debts();
  }
}

void fair_share::forgive_small_debts() {
  std::vector<std::int64_t> deficits;
  for (const auto& [tenant, a] : accounts_) {
    if (a.live == 0) deficits.push_back(a.deficit);
  }
  const auto middle =
      deficits.begin() + static_cast<std::ptrdiff_t>(deficits.size() / 2);
  std::nth_element(deficits.begin(), middle, deficits.end());
  for (auto it = accounts_.begin();
       it != accounts_.end() && debtors_ > max_debtors / 2;) {
    const account& a = it->second;
    if (a.live == 0 && a.deficit >= *middle) {
      it = accounts_.erase(it);
      --debtors_;
    } else {
      ++it;
    }
  }
}

void fair_share::reset() {
  for (auto it = accounts_.begin(); it != accounts_.end();) {
    it->second.deficit = 0;
    it = it->second.live == 0 ? accounts_.erase(it) : std::next(it);
  }
  debtors_ = 0;
}

void fair_share::charge(const std::string& tenant, std::int64_t tokens) {
  const auto it = accounts_.find(tenant);
  if (it != accounts_.end()) it->second.deficit -= tokens;
}

std::int64_t fair_share::rounds(const account& a, std::int64_t cost) const {
  const std::int64_t missing = cost - a.deficit;
  return missing <= 0 ? 0 : (missing + quantum - 1) / quantum;
}

std::string fair_share::next(
    const std::map<std::string, std::int64_t>& costs) const {
  // The tenant that needs the fewest rounds; among equals the first in the
  // ring, beginning with the one served last, which may have savings left.
  using rank = std::tuple<std::int64_t, bool, std::uint64_t>;
  std::string best;
  rank best_rank{};
  bool found = false;
  for (const auto& [tenant, cost] : costs) {
    const auto it = accounts_.find(tenant);
    if (it == accounts_.end()) continue;
    const account& a = it->second;
    const rank r{rounds(a, cost), a.place < turn_, a.place};
    if (!found || r < best_rank) {
      best = tenant;
      best_rank = r;
      found = true;
    }
  }
  return best;
}

void fair_share::serve(const std::string& tenant,
                       const std::map<std::string, std::int64_t>& costs) {
  account& served = accounts_.at(tenant);
  const std::int64_t cost = costs.at(tenant);
  const std::int64_t granted = rounds(served, cost) * quantum;
  for (auto it = accounts_.begin(); it != accounts_.end();) {
    account& a = it->second;
    if (costs.count(it->first) > 0) {
      a.deficit += granted;
    } else if (a.deficit < 0) {
      a.deficit = std::min<std::int64_t>(0, a.deficit + granted);
    }
    if (a.live == 0 && a.deficit >= 0) {
      it = accounts_.erase(it);
      --debtors_;
    } else {
      ++it;
    }
  }
  served.deficit -= cost;
  turn_ = served.place;
}

}  // namespace vouch::engine
