#include "engine/executor/executor.hpp"

#include <utility>

namespace vouch::engine {

// By value: an executor that drafts keeps them.
// NOLINTNEXTLINE(performance-unnecessary-value-param)
void executor::draft(draft_batch work, draft_completion done) {
  draft_result result;
  result.id = work.id;
  result.error = "the executor has no drafter";
  done(std::move(result));
}

}  // namespace vouch::engine
