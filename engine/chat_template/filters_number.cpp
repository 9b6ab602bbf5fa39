#include <array>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <optional>

#include "engine/chat_template/filters.hpp"
#include "engine/chat_template/methods.hpp"
#include "engine/chat_template/operators.hpp"
#include "engine/chat_template/unicode.hpp"

namespace vouch::engine::jinja {
namespace {

/// int(s, base) as Python reads it: spaces around, a sign, "_" between digits.
std::optional<std::int64_t> read_integer(std::string_view s, int base) {
  const byte_range r = strip(s, true, true);
  std::string digits;
  char last = '_';
  for (std::size_t i = r.begin; i < r.end; ++i) {
    if (s[i] == '_' && (last == '_' || i + 1 == r.end)) return std::nullopt;
    last = s[i];
    if (s[i] != '_') digits += s[i];
  }
  bool negative = false;
  if (!digits.empty() && (digits[0] == '-' || digits[0] == '+')) {
    negative = digits[0] == '-';
    digits.erase(0, 1);
  }
  const auto lower = [](char c) { return static_cast<char>(c | 0x20); };
  if (digits.size() > 2 && digits[0] == '0') {
    const char p = lower(digits[1]);
    if ((base == 16 && p == 'x') || (base == 8 && p == 'o') ||
        (base == 2 && p == 'b')) {
      digits.erase(0, 2);
    }
  }
  if (digits.empty() || digits[0] == '-') return std::nullopt;
  std::int64_t i = 0;
  const auto end = digits.data() + digits.size();
  const auto result = std::from_chars(digits.data(), end, i, base);
  if (result.ec == std::errc::result_out_of_range) {
    throw render_error("integer result needs more than 64 bits");
  }
  if (result.ec != std::errc{} || result.ptr != end) return std::nullopt;
  return negative ? -i : i;
}

std::optional<double> read_float(std::string_view s) {
  const byte_range r = strip(s, true, true);
  std::string number{s.substr(r.begin, r.end - r.begin)};
  if (number.empty() || number.find_first_of("xX(") != std::string::npos) {
    return std::nullopt;
  }
  char* end = nullptr;
  const double d = std::strtod(number.c_str(), &end);
  if (end != number.c_str() + number.size()) return std::nullopt;
  return d;
}

std::optional<value> from_double(double d) {
  if (!std::isfinite(d)) return std::nullopt;
  if (std::abs(d) >= 9.2e18) {
    throw render_error("integer result needs more than 64 bits");
  }
  return value{static_cast<std::int64_t>(d)};
}

value to_int(context&, const value& v, const arguments& args) {
  const bound_arguments bound = bind("int", args, {"default", "base"});
  const value fallback = bound[0].value_or(value{std::int64_t{0}});
  const std::int64_t base = bound[1] ? to_integer(*bound[1], "base") : 10;
  if (base < 2 || base > 36) throw render_error("int() base must be 2 to 36");
  require_defined(v);
  std::optional<value> result;
  bool tainted = v.tainted;
  if (v.is_string()) {
    tainted = !v.as_text().trusted();
    if (const auto i = read_integer(v.bytes(), static_cast<int>(base))) {
      result = value{*i};
    } else if (const auto d = read_float(v.bytes())) {
      result = from_double(*d);
    }
  } else if (v.is_integral()) {
    result = value{v.as_int()};
  } else if (v.is_float()) {
    result = from_double(v.as_double());
  }
  return result ? result->with_taint(tainted) : fallback;
}

value to_float(context&, const value& v, const arguments& args) {
  const bound_arguments bound = bind("float", args, {"default"});
  value fallback = bound[0].value_or(value{0.0});
  require_defined(v);
  if (v.is_number()) return value{v.as_double()}.with_taint(v.tainted);
  if (!v.is_string()) return fallback;
  const auto d = read_float(v.bytes());
  return d ? value{*d}.with_taint(!v.as_text().trusted()) : fallback;
}

value absolute(context&, const value& v, const arguments& args) {
  bind("abs", args, {});
  if (!v.is_number()) {
    throw render_error("bad operand type for abs(): '" + v.type_name() + "'");
  }
  if (v.is_float()) return value{std::abs(v.as_double())}.with_taint(v.tainted);
  return v.as_int() < 0 ? negate(v) : plus(v);
}

value round(context&, const value& v, const arguments& args) {
  const bound_arguments bound = bind("round", args, {"precision", "method"});
  const std::int64_t precision =
      bound[0] ? to_integer(*bound[0], "precision") : 0;
  const std::string method =
      bound[1] ? to_string_argument(*bound[1], "method").bytes() : "common";
  if (!v.is_number()) {
    throw render_error("type " + v.type_name() +
                       " doesn't define __round__ method");
  }
  if (std::abs(precision) > 300) {
    throw render_error("round's precision is too large");
  }
  const int digits = static_cast<int>(precision);
  if (method == "ceil" || method == "floor") {
    const double scale = std::pow(10.0, digits);
    const double scaled = v.as_double() * scale;
    const double d = method == "ceil" ? std::ceil(scaled) : std::floor(scaled);
    return value{d / scale}.with_taint(v.tainted);
  }
  if (method != "common") {
    throw render_error("method must be common, ceil or floor");
  }
  if (v.is_integral() && digits >= 0) return plus(v);
  double d = v.as_double();
  if (std::isfinite(d) && digits >= 0) {
    char buffer[800];
    std::snprintf(buffer, sizeof buffer, "%.*f", digits, d);
    d = std::strtod(buffer, nullptr);
  } else if (std::isfinite(d)) {
    const double scale = std::pow(10.0, -digits);
    d = std::nearbyint(d / scale) * scale;
  }
  value rounded{d};
  if (v.is_integral()) rounded = value{static_cast<std::int64_t>(d)};
  return rounded.with_taint(v.tainted);
}

constexpr std::array number_filters{
    filter_entry{"int", to_int},
    filter_entry{"float", to_float},
    filter_entry{"abs", absolute},
    filter_entry{"round", round},
};

}  // namespace

filter_function find_number_filter(std::string_view name) {
  for (const filter_entry& f : number_filters) {
    if (f.name == name) return f.function;
  }
  return nullptr;
}

}  // namespace vouch::engine::jinja
