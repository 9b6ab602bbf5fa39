#pragma once

#include <memory>
#include <vector>

#include "cli/compare/arm.hpp"
#include "engine/executor/executor.hpp"
#include "engine/sampling/sampling_params.hpp"
#include "engine/speculation/drafter.hpp"
#include "engine/tokenizer/tokenizer.hpp"

namespace vouch::cli::compare {

/// An arm that runs in this process, with the scheduler that serves.
struct local_setup {
  std::vector<std::vector<engine::token_id>> prompts;
  engine::sampling_params sampling;
  std::int64_t max_tokens = 0;
  int parallel = 1;
  /// Rows of a verify block; 1: classic.
  int width = 1;
  /// Who drafts where the width is more; nullptr: the executor's drafter.
  std::shared_ptr<const engine::drafter> drafter;
  engine::token_id vocabulary = 0;
  std::shared_ptr<const engine::tokenizer> words;
  /// Hash the logits of every row.
  bool bytes = false;
};

/// Fills in all but the arm's name. What fails is in the arm's error.
arm run_local(engine::executor& device, const local_setup& setup);

}  // namespace vouch::cli::compare
