#include "actors/sequence_owners.hpp"

#include <algorithm>

namespace vouch::actors {

void sequence_owners::add(engine::sequence_id first, std::size_t count,
                          const caf::strong_actor_ptr& owner) {
  auto& owned = owned_[caf::actor_cast<caf::actor_addr>(owner)];
  for (std::size_t i = 0; i < count; ++i) {
    owner_of_.emplace(first + i, caf::actor_cast<caf::weak_actor_ptr>(owner));
    owned.push_back(first + i);
  }
}

void sequence_owners::erase(engine::sequence_id id) {
  const auto found = owner_of_.find(id);
  if (found == owner_of_.end()) {
    return;
  }
  const auto owner = caf::actor_cast<caf::actor_addr>(found->second);
  owner_of_.erase(found);
  const auto owned = owned_.find(owner);
  if (owned != owned_.end()) {
    auto& ids = owned->second;
    ids.erase(std::remove(ids.begin(), ids.end(), id), ids.end());
    if (ids.empty()) {
      owned_.erase(owned);
    }
  }
}

std::vector<engine::sequence_id> sequence_owners::erase(
    const caf::actor_addr& owner) {
  const auto owned = owned_.find(owner);
  if (owned == owned_.end()) {
    return {};
  }
  auto ids = std::move(owned->second);
  owned_.erase(owned);
  for (const auto id : ids) {
    owner_of_.erase(id);
  }
  return ids;
}

std::vector<sequence_owners::delivery> sequence_owners::sort(
    std::vector<engine::sequence_update> updates) {
  std::vector<delivery> out;
  std::unordered_map<caf::actor_addr, std::size_t> place;
  for (auto& update : updates) {
    const auto found = owner_of_.find(update.id);
    if (found == owner_of_.end()) {
      continue;
    }
    const auto owner = found->second;
    const auto [at, added] =
        place.emplace(caf::actor_cast<caf::actor_addr>(owner), out.size());
    if (added) {
      out.emplace_back(owner, std::vector<engine::sequence_update>{});
    }
    if (update.finished) {
      erase(update.id);
    }
    out[at->second].second.push_back(std::move(update));
  }
  return out;
}

}  // namespace vouch::actors
