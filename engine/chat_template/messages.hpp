#pragma once

#include "engine/chat_template/value.hpp"

namespace vouch::engine::jinja {

/// What transformers 5.24 does to a conversation before a template sees it:
/// keys of a message whose value is null are dropped; `reasoning_content`,
/// else `thinking`, else `reasoning`, is copied to `reasoning_content`, and to
/// `thinking` where that is missing.
///
/// And two things of our own. With `parse_arguments`, the arguments of a tool
/// call given as text (as the OpenAI protocol does) become a mapping when they
/// are a JSON object; `parsed_any` says whether there were such. And a
/// message's role, when it is one of the protocol's names, counts as written
/// by the template: those names spell no special token, and templates build
/// one around them ('<|' + role + '|>').
///
/// Throws std::invalid_argument when `messages` is not an array of objects.
value prepare_messages(const value& messages, bool parse_arguments,
                       bool& parsed_any);

}  // namespace vouch::engine::jinja
