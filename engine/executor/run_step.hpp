#pragma once

#include <future>

#include "engine/executor/executor.hpp"

namespace vouch::engine {

/// Submits a step; the future holds its result.
std::future<step_result> submit(executor& device, step work);

/// Asks for drafts and waits for them. Not on the executor's own thread.
draft_result run_draft(executor& device, draft_batch work);

/// Submits a step and waits for its result. Not on the executor's own thread.
step_result run_step(executor& device, step work);

}  // namespace vouch::engine
