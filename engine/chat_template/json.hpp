#pragma once

#include <string>
#include <string_view>

#include "engine/chat_template/value.hpp"

namespace vouch::engine::jinja {

/// Parses JSON, in its own order, to untrusted values. `what` names the text
/// in the std::invalid_argument thrown for malformed JSON, for integers beyond
/// 64 bits and for nesting beyond max_depth.
value parse_json(std::string_view json, const std::string& what);

struct json_options {
  bool ensure_ascii = false;
  /// Negative: everything on one line.
  std::int64_t indent = -1;
  std::string indent_text;
  std::string item_separator = ", ";
  std::string key_separator = ": ";
  bool sort_keys = false;
  /// The separators and the indentation are the template's.
  bool trusted = true;
};

/// Python's json.dumps. The result is trusted only when nothing in v came
/// from the request.
text to_json(context& ctx, const value& v, const json_options& options);

}  // namespace vouch::engine::jinja
