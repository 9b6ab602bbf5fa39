#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "engine/chat_template/value.hpp"

// What the two formatting languages of Python's str share.
namespace vouch::engine::jinja {

/// [[fill]align][sign][0][width][,][.precision][type]
struct specification {
  std::string fill = " ";
  /// Written by the template; else nothing made by it is trusted.
  bool trusted = true;
  char align = 0;
  char sign = '-';
  bool alternate = false;
  bool comma = false;
  std::size_t width = 0;
  int precision = -1;
  char type = 0;
};

inline bool is_digit(char c) { return c >= '0' && c <= '9'; }

/// The digits from s[i] on; i moves behind them. Throws render_error for a
/// number too large for a width.
std::size_t parse_number(std::string_view s, std::size_t& i);

/// What stands behind a field's colon. Throws render_error.
specification parse_specification(std::string_view s);

/// The value as `spec` says. Throws render_error for a type that does not fit.
text format_value(context& ctx, const value& v, const specification& spec);

}  // namespace vouch::engine::jinja
