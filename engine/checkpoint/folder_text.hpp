#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "engine/models/model_config.hpp"
#include "engine/types.hpp"

namespace vouch::engine {

/// The chat template of a model folder: chat_template.jinja, else
/// tokenizer_config.json's `chat_template` (a text, or a list of named ones, of
/// which "default" counts); empty when there is none. Throws input_error.
std::string read_chat_template(const std::filesystem::path& folder);

/// The id of tokenizer_config.json's `eos_token`, looked up in tokenizer.json;
/// nothing when either file or the field is missing. Throws input_error.
std::optional<token_id> read_tokenizer_eos(const std::filesystem::path& folder,
                                           const model_config& config);

}  // namespace vouch::engine
