#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "engine/tokenizer/tokenizer.hpp"
#include "engine/types.hpp"

namespace vouch::test {

/// A prompt of the parity suite.
struct parity_prompt {
  std::string name;
  /// "chat", "code", "prose", "repetition" or "language".
  std::string kind;
  std::vector<engine::token_id> tokens;
};

/// Reads tests/fixtures/parity/prompts.txt, whose head says what it holds.
/// Throws std::runtime_error for a line that it does not understand.
std::vector<parity_prompt> load_parity_prompts(
    const std::filesystem::path& file, const engine::tokenizer& tokenizer);

}  // namespace vouch::test
