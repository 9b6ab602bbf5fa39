#pragma once

#include <memory>

#include "engine/models/model.hpp"

namespace vouch::engine {

/// Checks that `source` has the tensors that build_llama takes, in the same
/// order and with the same errors.
void check_llama(const checkpoint& source);

/// The Llama family (Llama 2 and 3, SmolLM2): pre-norm blocks of grouped-query
/// attention with rotary positions and of a SwiGLU network. Throws input_error
/// when a tensor is missing or misshapen.
std::unique_ptr<model> build_llama(const checkpoint& source,
                                   kernels::thread_pool& pool,
                                   const load_progress& progress);

}  // namespace vouch::engine
