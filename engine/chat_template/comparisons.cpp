#include <algorithm>

#include "engine/chat_template/context.hpp"
#include "engine/chat_template/operators.hpp"
#include "engine/chat_template/unicode.hpp"

namespace vouch::engine::jinja {
namespace {

bool equal_sequences(context& ctx, const sequence& a, const sequence& b) {
  if (a.type != b.type) return false;
  if (a.type == sequence_type::generator || a.items.size() != b.items.size()) {
    return &a == &b;
  }
  return std::equal(
      a.items.begin(), a.items.end(), b.items.begin(),
      [&](const value& x, const value& y) { return equal(ctx, x, y); });
}

bool equal_dicts(context& ctx, const dict& a, const dict& b) {
  if (a.entries.size() != b.entries.size()) return false;
  for (const auto& [key, item] : a.entries) {
    const value* other = b.find(key);
    if (!other || !equal(ctx, item, *other)) return false;
  }
  return true;
}

bool equal_numbers(const value& a, const value& b) {
  if (a.is_integral() && b.is_integral()) return a.as_int() == b.as_int();
  return a.as_double() == b.as_double();
}

}  // namespace

bool equal(context& ctx, const value& a, const value& b) {
  ctx.charge();
  const context::nesting guard{ctx};
  if (a.is_string() && b.is_string()) {
    ctx.charge(a.as_text().size() / 512);
    return a.bytes() == b.bytes();
  }
  if (a.is_number() && b.is_number()) return equal_numbers(a, b);
  if (a.is_sequence() && b.is_sequence()) {
    return equal_sequences(ctx, a.as_sequence(), b.as_sequence());
  }
  if (a.is_dict() && b.is_dict()) {
    return equal_dicts(ctx, a.as_dict(), b.as_dict());
  }
  if (a.is_undefined() || b.is_undefined()) {
    return a.is_undefined() && b.is_undefined();
  }
  return a.same_as(b);
}

bool less(context& ctx, const value& a, const value& b, const char* symbol) {
  ctx.charge();
  const context::nesting guard{ctx};
  require_defined(a);
  require_defined(b);
  if (a.is_integral() && b.is_integral()) return a.as_int() < b.as_int();
  if (a.is_number() && b.is_number()) return a.as_double() < b.as_double();
  if (a.is_string() && b.is_string()) {
    ctx.charge(a.as_text().size() / 512);
    return a.bytes() < b.bytes();
  }
  if (a.is_sequence() && b.is_sequence() &&
      a.as_sequence().type == b.as_sequence().type &&
      (a.as_sequence().type == sequence_type::list ||
       a.as_sequence().type == sequence_type::tuple)) {
    const std::vector<value>& x = a.as_sequence().items;
    const std::vector<value>& y = b.as_sequence().items;
    for (std::size_t i = 0; i < std::min(x.size(), y.size()); ++i) {
      if (!equal(ctx, x[i], y[i])) return less(ctx, x[i], y[i], symbol);
    }
    return x.size() < y.size();
  }
  const bool swapped = symbol[0] == '>';
  throw render_error("'" + std::string{symbol} +
                     "' not supported between instances of '" +
                     (swapped ? b : a).type_name() + "' and '" +
                     (swapped ? a : b).type_name() + "'");
}

bool contains(context& ctx, const value& container, const value& item) {
  if (container.is_undefined()) return false;
  if (container.is_string()) {
    if (!item.is_string()) {
      throw render_error("'in <string>' requires string as left operand, not " +
                         item.type_name());
    }
    ctx.charge(container.as_text().size() / 64);
    return find_bytes(container.bytes(), item.bytes(), 0) != std::string::npos;
  }
  if (container.is_dict()) return container.as_dict().find(item) != nullptr;
  if (container.is_sequence() || container.is_loop()) {
    for (const value& candidate : iterate(ctx, container)) {
      if (equal(ctx, candidate, item)) return true;
    }
    return false;
  }
  throw render_error("argument of type '" + container.type_name() +
                     "' is not iterable");
}

bool compare(context& ctx, compare_op op, const value& a, const value& b) {
  switch (op) {
    case compare_op::eq:
      return equal(ctx, a, b);
    case compare_op::ne:
      return !equal(ctx, a, b);
    case compare_op::lt:
      return less(ctx, a, b, "<");
    case compare_op::gt:
      return less(ctx, b, a, ">");
    case compare_op::le:
    case compare_op::ge: {
      const bool le = op == compare_op::le;
      const char* symbol = le ? "<=" : ">=";
      const value& low = le ? a : b;
      const value& high = le ? b : a;
      return less(ctx, low, high, symbol) || equal(ctx, low, high);
    }
    case compare_op::in:
      return contains(ctx, b, a);
    case compare_op::not_in:
      return !contains(ctx, b, a);
  }
  return false;
}

}  // namespace vouch::engine::jinja
