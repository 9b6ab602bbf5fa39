#pragma once

#include <string>
#include <string_view>

#include "engine/chat_template/value.hpp"

namespace vouch::engine::jinja {

/// Python's repr of a float: shortest digits that read back, "1.0", "1e+16",
/// "nan", "inf".
std::string float_repr(double d);

/// Python's repr of a str.
std::string string_repr(std::string_view bytes);

/// str(v), with origin: a string keeps its own, a number its taint, and a
/// container is untrusted as a whole when anything in it is.
text to_text(context& ctx, const value& v);

/// repr(v), with origin as for to_text.
text repr(context& ctx, const value& v);

/// repr(v) for error messages: cut when long.
std::string short_repr(context& ctx, const value& v);

}  // namespace vouch::engine::jinja
