#pragma once

#include <string>
#include <utility>
#include <vector>

#include "engine/tokenizer/tokenizer.hpp"

namespace vouch::engine {

/// The special-token strings that a chat template is given, those that exist:
/// {"bos_token", "<s>"}, {"eos_token", ...}, {"pad_token", ...}.
std::vector<std::pair<std::string, std::string>> special_token_strings(
    const tokenizer& tokens);

}  // namespace vouch::engine
