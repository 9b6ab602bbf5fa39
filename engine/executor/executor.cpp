#include "engine/executor/executor.hpp"

#include <utility>

#include "kernels/cores.hpp"

namespace vouch::engine {

int compute_threads(const cpu_executor_options& options) {
  if (options.threads > 0) return options.threads;
  return options.cpus.empty() ? kernels::available_cores()
                              : static_cast<int>(options.cpus.size());
}

// By value: an executor that drafts keeps them.
// NOLINTNEXTLINE(performance-unnecessary-value-param)
void executor::draft(draft_batch work, draft_completion done) {
  draft_result result;
  result.id = work.id;
  result.error = "the executor has no drafter";
  done(std::move(result));
}

}  // namespace vouch::engine
