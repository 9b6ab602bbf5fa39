#include "engine/chat_template/operators.hpp"

#include <algorithm>
#include <cmath>

#include "engine/chat_template/context.hpp"
#include "engine/chat_template/methods.hpp"
#include "engine/chat_template/repr.hpp"
#include "engine/chat_template/unicode.hpp"

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

bool is_list_or_tuple(const value& v) {
  return v.is_sequence() && (v.as_sequence().type == sequence_type::list ||
                             v.as_sequence().type == sequence_type::tuple);
}

/// The bounds of a Python slice of `size` items.
struct slice_bounds {
  std::int64_t start;
  std::int64_t stop;
  std::int64_t step;
};

std::int64_t slice_index(const value& v) {
  if (!v.is_integral()) {
    throw render_error(
        "slice indices must be integers or None or have an __index__ method");
  }
  return v.as_int();
}

slice_bounds bounds(std::int64_t size, const value& start, const value& stop,
                    const value& step) {
  slice_bounds b{0, size, 1};
  if (!step.is_none()) b.step = slice_index(step);
  if (b.step == 0) throw render_error("slice step cannot be zero");
  const std::int64_t low = b.step < 0 ? -1 : 0;
  const std::int64_t high = b.step < 0 ? size - 1 : size;
  const auto clamp = [&](std::int64_t i) {
    if (i < 0) i += size;
    return std::clamp(i, low, std::max(low, high));
  };
  b.start =
      start.is_none() ? (b.step < 0 ? high : low) : clamp(slice_index(start));
  b.stop =
      stop.is_none() ? (b.step < 0 ? low : high) : clamp(slice_index(stop));
  return b;
}

template <class Visit>
void for_each_index(const slice_bounds& b, Visit visit) {
  for (std::int64_t i = b.start; b.step > 0 ? i < b.stop : i > b.stop;) {
    visit(static_cast<std::size_t>(i));
    if (__builtin_add_overflow(i, b.step, &i)) break;
  }
}

std::vector<std::size_t> code_point_offsets(std::string_view bytes) {
  std::vector<std::size_t> offsets{0};
  for (std::size_t i = 0; i < bytes.size();) {
    next_code_point(bytes, i);
    offsets.push_back(i);
  }
  return offsets;
}

value item_at(context& ctx, const value& v, std::int64_t index, bool& found) {
  found = false;
  if (v.is_string()) {
    const text& t = v.as_text();
    ctx.charge(t.size() / 64);
    const auto count = static_cast<std::int64_t>(code_point_count(t.bytes()));
    if (index < 0) index += count;
    if (index < 0 || index >= count) return {};
    const std::size_t begin =
        byte_offset(t.bytes(), static_cast<std::size_t>(index));
    std::size_t end = begin;
    next_code_point(t.bytes(), end);
    found = true;
    return value{t.slice(begin, end)};
  }
  const sequence& s = v.as_sequence();
  if (s.type != sequence_type::list && s.type != sequence_type::tuple &&
      s.type != sequence_type::range) {
    return {};
  }
  const auto count = static_cast<std::int64_t>(s.items.size());
  if (index < 0) index += count;
  if (index < 0 || index >= count) return {};
  found = true;
  return s.items[static_cast<std::size_t>(index)];
}

/// How Jinja's messages name what lacked an attribute.
std::string object_name(const value& v) {
  if (v.is_none()) return "None";
  return v.type_name() + " object";
}

value missing_item(context& ctx, const value& v, const value& key) {
  std::string message;
  if (key.is_string()) {
    message.append("'").append(object_name(v)).append("' has no attribute ");
  } else {
    message.append(object_name(v)).append(" has no element ");
  }
  return value::undefined(message.append(short_repr(ctx, key)));
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

std::vector<value> iterate(context& ctx, const value& v) {
  std::vector<value> items;
  if (v.is_undefined()) return items;
  if (v.is_sequence()) {
    const sequence& s = v.as_sequence();
    if (s.consumed) return items;
    if (s.type == sequence_type::generator) s.consumed = true;
    ctx.charge(s.items.size());
    return s.items;
  }
  if (v.is_dict()) {
    ctx.charge(v.as_dict().entries.size());
    for (const auto& entry : v.as_dict().entries) items.push_back(entry.first);
    return items;
  }
  if (v.is_string()) {
    const text& t = v.as_text();
    ctx.charge(t.size());
    const std::vector<std::size_t> offsets = code_point_offsets(t.bytes());
    const bool uniform = t.runs().size() <= 1;
    for (std::size_t i = 0; i + 1 < offsets.size(); ++i) {
      const std::size_t from = offsets[i];
      const std::size_t to = offsets[i + 1];
      items.push_back(
          uniform ? make_string(t.bytes().substr(from, to - from), t.trusted())
                  : value{t.slice(from, to)});
    }
    return items;
  }
  if (v.is_loop()) {
    const loop_state& loop = v.as_loop();
    ctx.charge(loop.items.size());
    return loop.items;
  }
  throw render_error("'" + v.type_name() + "' object is not iterable");
}

std::size_t length(context& ctx, const value& v) {
  if (v.is_undefined()) return 0;
  if (v.is_string()) {
    ctx.charge(v.as_text().size() / 64);
    return code_point_count(v.bytes());
  }
  if (v.is_dict()) return v.as_dict().entries.size();
  if (v.is_loop()) return v.as_loop().items.size();
  if (v.is_sequence() && v.as_sequence().type != sequence_type::generator) {
    return v.as_sequence().items.size();
  }
  throw render_error("object of type '" + v.type_name() + "' has no len()");
}

value get_item(context& ctx, const value& v, const value& key) {
  require_defined(v);
  if (v.is_dict()) {
    const bool hashable =
        !key.is_dict() &&
        !(key.is_sequence() && key.as_sequence().type != sequence_type::tuple);
    if (hashable) {
      if (const value* item = v.as_dict().find(key)) return *item;
    }
  } else if ((v.is_string() || v.is_sequence()) && key.is_integral()) {
    bool found = false;
    value item = item_at(ctx, v, key.as_int(), found);
    if (found) return item;
  } else if (v.is_namespace() && key.is_string()) {
    if (const value* item = v.as_namespace().attributes.find(key)) return *item;
  }
  if (key.is_string()) {
    value method = find_attribute(ctx, v, key.bytes());
    if (!method.is_undefined()) return method;
    if (is_forbidden(v, key.bytes())) return forbidden(v, key.bytes());
  }
  return missing_item(ctx, v, key);
}

value get_attribute(context& ctx, const value& v, std::string_view name) {
  require_defined(v);
  if (v.is_namespace()) {
    if (const value* item = v.as_namespace().attributes.find(name)) {
      return *item;
    }
  }
  value method = find_attribute(ctx, v, name);
  if (!method.is_undefined()) return method;
  if (is_forbidden(v, name)) return forbidden(v, name);
  if (v.is_dict()) {
    if (const value* item = v.as_dict().find(name)) return *item;
  }
  return missing_item(ctx, v, make_string(name, true));
}

value get_slice(context& ctx, const value& v, const value& start,
                const value& stop, const value& step) {
  require_defined(v);
  if (v.is_string()) {
    const text& t = v.as_text();
    ctx.charge_bytes(t.size());
    const std::vector<std::size_t> offsets = code_point_offsets(t.bytes());
    const auto size = static_cast<std::int64_t>(offsets.size()) - 1;
    const slice_bounds b = bounds(size, start, stop, step);
    if (b.step == 1) {
      if (b.start >= b.stop) return value{text{}};
      return value{t.slice(offsets[static_cast<std::size_t>(b.start)],
                           offsets[static_cast<std::size_t>(b.stop)])};
    }
    text result;
    for_each_index(b, [&](std::size_t i) {
      ctx.charge(1 + t.runs().size());
      result.append(t.slice(offsets[i], offsets[i + 1]));
    });
    return value{std::move(result)};
  }
  if (v.is_sequence() &&
      (is_list_or_tuple(v) || v.as_sequence().type == sequence_type::range)) {
    const sequence& s = v.as_sequence();
    std::vector<value> items;
    for_each_index(
        bounds(static_cast<std::int64_t>(s.items.size()), start, stop, step),
        [&](std::size_t i) {
          ctx.charge();
          items.push_back(s.items[i]);
        });
    return make_sequence(s.type, std::move(items), s.tainted);
  }
  if (v.is_dict()) throw render_error("unhashable type: 'slice'");
  throw render_error("'" + v.type_name() + "' object is not subscriptable");
}

}  // namespace vouch::engine::jinja
