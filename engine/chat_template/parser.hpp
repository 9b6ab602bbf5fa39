#pragma once

#include <string_view>

#include "engine/chat_template/ast.hpp"

namespace vouch::engine::jinja {

/// Parses a template with the statements for, if, set, macro, call, filter,
/// with, generation, break and continue. Nesting is bounded, so that neither
/// parsing nor evaluating can exhaust the stack. Throws syntax_error.
body parse(std::string_view source);

}  // namespace vouch::engine::jinja
