#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "engine/chat_template/chat_template.hpp"

namespace vouch::cli {

/// A conversation file: a JSON list of messages, or an object whose `messages`,
/// `tools` and `add_generation_prompt` are taken out and whose other members
/// become variables. Throws engine::input_error naming `name` and the offset.
engine::template_input read_conversation(std::string_view json,
                                         const std::string& name);

/// Adds "NAME=JSON" variables (a value that is not JSON is a string).
void add_variables(engine::template_input& input,
                   const std::vector<std::string>& assignments);

/// `text` as a JSON string, with its quotes.
std::string json_string(std::string_view text);

/// {"role": role, "content": content}
std::string message_json(std::string_view role, std::string_view content);

}  // namespace vouch::cli
