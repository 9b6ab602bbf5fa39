#pragma once

#include <cstddef>
#include <unordered_map>
#include <utility>
#include <vector>

#include <caf/all.hpp>

#include "engine/schedule/scheduler.hpp"

namespace vouch::actors {

/// Who waits for which sequence. Owners are known weakly: their death is
/// reported by CAF and ends what they own.
class sequence_owners {
 public:
  void add(engine::sequence_id first, std::size_t count,
           const caf::strong_actor_ptr& owner);
  void erase(engine::sequence_id id);
  /// Forgets a dead owner; the sequences it still had.
  std::vector<engine::sequence_id> erase(const caf::actor_addr& owner);

  /// Updates by owner, in order; finished sequences are forgotten.
  using delivery =
      std::pair<caf::weak_actor_ptr, std::vector<engine::sequence_update>>;
  std::vector<delivery> sort(std::vector<engine::sequence_update> updates);

 private:
  std::unordered_map<engine::sequence_id, caf::weak_actor_ptr> owner_of_;
  std::unordered_map<caf::actor_addr, std::vector<engine::sequence_id>> owned_;
};

}  // namespace vouch::actors
