#pragma once

#include <cstdint>
#include <vector>

#include "engine/models/dflash_weights.hpp"
#include "kernels/activations.hpp"
#include "kernels/thread_pool.hpp"

namespace vouch::engine {

/// The rows that propose, after the head.
struct dflash_rows {
  /// Normed, [count][hidden].
  const float* hidden = nullptr;
  /// [count][vocabulary]; a Markov head adds to them.
  float* logits = nullptr;
  std::int64_t count = 0;
  std::int64_t vocabulary = 0;
};

/// One draft a row, in ids of the drafter's vocabulary; fewer when a row has no
/// largest logit (NaN). Ties go to the lowest id. Without a selector and a
/// Markov head each row's choice is its own; with one it depends on the choice
/// before, which is `anchor` for the first row.
std::vector<token_id> select_drafts(const dflash_config& config,
                                    const dflash_weights& weights,
                                    token_id anchor, const dflash_rows& rows,
                                    kernels::thread_pool& pool);

}  // namespace vouch::engine
