#include "engine/chat_template/operators.hpp"

#include <algorithm>
#include <cmath>

#include "engine/chat_template/context.hpp"
#include "engine/chat_template/methods.hpp"

namespace vouch::engine::jinja {
namespace {

const char* symbol_of(binary_op op) {
  switch (op) {
    case binary_op::add:
      return "+";
    case binary_op::sub:
      return "-";
    case binary_op::mul:
      return "*";
    case binary_op::div:
      return "/";
    case binary_op::floor_div:
      return "//";
    case binary_op::mod:
      return "%";
    case binary_op::pow:
      return "** or pow()";
  }
  return "?";
}

[[noreturn]] void overflow() {
  throw render_error("integer result needs more than 64 bits");
}

[[noreturn]] void unsupported(binary_op op, const value& a, const value& b) {
  if (op == binary_op::add &&
      (a.is_string() ||
       (a.is_sequence() && (a.as_sequence().type == sequence_type::list ||
                            a.as_sequence().type == sequence_type::tuple)))) {
    throw render_error("can only concatenate " + a.type_name() + " (not \"" +
                       b.type_name() + "\") to " + a.type_name());
  }
  throw render_error("unsupported operand type(s) for " +
                     std::string{symbol_of(op)} + ": '" + a.type_name() +
                     "' and '" + b.type_name() + "'");
}

std::int64_t integer_power(std::int64_t base, std::int64_t exponent) {
  std::int64_t result = 1;
  while (exponent > 0) {
    if ((exponent & 1) != 0 && __builtin_mul_overflow(result, base, &result)) {
      overflow();
    }
    exponent >>= 1;
    if (exponent > 0 && __builtin_mul_overflow(base, base, &base)) overflow();
  }
  return result;
}

value integer_op(binary_op op, std::int64_t a, std::int64_t b) {
  std::int64_t r = 0;
  switch (op) {
    case binary_op::add:
      if (__builtin_add_overflow(a, b, &r)) overflow();
      break;
    case binary_op::sub:
      if (__builtin_sub_overflow(a, b, &r)) overflow();
      break;
    case binary_op::mul:
      if (__builtin_mul_overflow(a, b, &r)) overflow();
      break;
    case binary_op::div:
      if (b == 0) throw render_error("division by zero");
      return value{static_cast<double>(a) / static_cast<double>(b)};
    case binary_op::floor_div:
    case binary_op::mod:
      if (b == 0) {
        throw render_error(op == binary_op::mod
                               ? "integer modulo by zero"
                               : "integer division or modulo by zero");
      }
      if (b == -1) {
        if (op == binary_op::mod) return value{std::int64_t{0}};
        return integer_op(binary_op::sub, 0, a);
      }
      r = a / b;
      if (a % b != 0 && (a < 0) != (b < 0)) --r;
      if (op == binary_op::mod) r = a - r * b;
      break;
    case binary_op::pow:
      if (b < 0) {
        if (a == 0) {
          throw render_error("0.0 cannot be raised to a negative power");
        }
        return value{std::pow(static_cast<double>(a), static_cast<double>(b))};
      }
      r = integer_power(a, b);
      break;
  }
  return value{r};
}

value float_op(binary_op op, double a, double b) {
  switch (op) {
    case binary_op::add:
      return value{a + b};
    case binary_op::sub:
      return value{a - b};
    case binary_op::mul:
      return value{a * b};
    case binary_op::div:
      if (b == 0) throw render_error("float division by zero");
      return value{a / b};
    case binary_op::floor_div:
      if (b == 0) throw render_error("float floor division by zero");
      return value{std::floor(a / b)};
    case binary_op::mod: {
      if (b == 0) throw render_error("float modulo");
      double r = std::fmod(a, b);
      if (r != 0 && (r < 0) != (b < 0)) r += b;
      return value{r};
    }
    case binary_op::pow:
      if (a == 0 && b < 0) {
        throw render_error("0.0 cannot be raised to a negative power");
      }
      return value{std::pow(a, b)};
  }
  return {};
}

value concatenate(context& ctx, const text& a, const text& b) {
  ctx.charge_bytes(a.size() + b.size());
  text result = a;
  if (a.markup || b.markup) {
    if (!a.markup) result = escape_html(ctx, a);
    result.markup = true;
    result.append(b.markup ? b : escape_html(ctx, b));
    return value{std::move(result)};
  }
  result.append(b);
  return value{std::move(result)};
}

value repeat(context& ctx, const value& v, std::int64_t count) {
  const auto times = static_cast<std::size_t>(std::max<std::int64_t>(count, 0));
  if (v.is_string()) {
    const text& unit = v.as_text();
    if (unit.empty()) return v;
    // Two checks, so that the product cannot wrap.
    ctx.charge_bytes(times);
    ctx.charge_bytes(times * unit.size());
    text result;
    result.markup = unit.markup;
    for (std::size_t i = 0; i < times; ++i) result.append(unit);
    return value{std::move(result)};
  }
  const sequence& s = v.as_sequence();
  std::vector<value> items;
  for (std::size_t i = 0; i < times && !s.items.empty(); ++i) {
    ctx.charge(s.items.size());
    items.insert(items.end(), s.items.begin(), s.items.end());
  }
  return make_sequence(s.type, std::move(items), s.tainted);
}

}  // namespace

void require_defined(const value& v) {
  if (v.is_undefined()) throw render_error(v.undefined_message());
}

text escape_html(context& ctx, const text& s) {
  text out;
  std::size_t offset = 0;
  const std::string_view bytes = s.bytes();
  ctx.charge_bytes(bytes.size());
  for (const text::run& run : s.runs()) {
    for (const char c : bytes.substr(offset, run.length)) {
      const char* entity = c == '&'    ? "&amp;"
                           : c == '<'  ? "&lt;"
                           : c == '>'  ? "&gt;"
                           : c == '\'' ? "&#39;"
                           : c == '"'  ? "&#34;"
                                       : nullptr;
      out.append(entity ? std::string_view{entity} : std::string_view{&c, 1},
                 run.trusted);
    }
    offset += run.length;
  }
  ctx.charge_bytes(out.size());
  out.markup = true;
  return out;
}

value binary(context& ctx, binary_op op, const value& a, const value& b) {
  if (op == binary_op::mod && a.is_string()) {
    return value{format_percent(ctx, a.as_text(), b)};
  }
  require_defined(a);
  require_defined(b);
  const bool tainted = a.tainted || b.tainted;
  if (a.is_integral() && b.is_integral()) {
    return integer_op(op, a.as_int(), b.as_int()).with_taint(tainted);
  }
  if (a.is_number() && b.is_number()) {
    return float_op(op, a.as_double(), b.as_double()).with_taint(tainted);
  }
  if (op == binary_op::add) {
    if (a.is_string() && b.is_string()) {
      return concatenate(ctx, a.as_text(), b.as_text());
    }
    if (is_list_or_tuple(a) && b.is_sequence() &&
        a.as_sequence().type == b.as_sequence().type) {
      std::vector<value> items = a.as_sequence().items;
      const std::vector<value>& tail = b.as_sequence().items;
      ctx.charge(items.size() + tail.size());
      items.insert(items.end(), tail.begin(), tail.end());
      return make_sequence(a.as_sequence().type, std::move(items),
                           a.as_sequence().tainted || b.as_sequence().tainted);
    }
  }
  if (op == binary_op::mul) {
    const auto repeatable = [](const value& v) {
      return v.is_string() || is_list_or_tuple(v);
    };
    if (repeatable(a) && b.is_integral()) return repeat(ctx, a, b.as_int());
    if (repeatable(b) && a.is_integral()) return repeat(ctx, b, a.as_int());
    if (repeatable(a) || repeatable(b)) {
      throw render_error("can't multiply sequence by non-int of type '" +
                         (repeatable(a) ? b : a).type_name() + "'");
    }
  }
  unsupported(op, a, b);
}

value negate(const value& v) {
  require_defined(v);
  if (v.is_integral()) {
    return integer_op(binary_op::sub, 0, v.as_int()).with_taint(v.tainted);
  }
  if (v.is_float()) return value{-v.as_double()}.with_taint(v.tainted);
  throw render_error("bad operand type for unary -: '" + v.type_name() + "'");
}

value plus(const value& v) {
  require_defined(v);
  if (v.is_integral()) return value{v.as_int()}.with_taint(v.tainted);
  if (v.is_float()) return v;
  throw render_error("bad operand type for unary +: '" + v.type_name() + "'");
}

}  // namespace vouch::engine::jinja
