#pragma once

#include <optional>

#include "engine/chat_template/value.hpp"

// Python's operators, with Jinja's undefined on top.
namespace vouch::engine::jinja {

enum class binary_op { add, sub, mul, div, floor_div, mod, pow };
enum class compare_op { eq, ne, lt, le, gt, ge, in, not_in };

/// Throws render_error with Python's message when the types do not fit, on
/// division by zero, and where Python would need more than 64 bits.
value binary(context& ctx, binary_op op, const value& a, const value& b);
value negate(const value& v);
value plus(const value& v);

bool equal(context& ctx, const value& a, const value& b);
bool less(context& ctx, const value& a, const value& b,
          const char* symbol = "<");
bool contains(context& ctx, const value& container, const value& item);
bool compare(context& ctx, compare_op op, const value& a, const value& b);

/// What `for` walks: items, a dict's keys, a string's code points; nothing for
/// undefined. Throws render_error for what cannot be iterated.
std::vector<value> iterate(context& ctx, const value& v);
/// len(v).
std::size_t length(context& ctx, const value& v);

/// v[key]: an item, else a method of that name, else undefined.
value get_item(context& ctx, const value& v, const value& key);
/// v.name: a method, else an item, else undefined.
value get_attribute(context& ctx, const value& v, std::string_view name);
/// v[start:stop:step]; none leaves a bound out.
value get_slice(context& ctx, const value& v, const value& start,
                const value& stop, const value& step);

inline bool is_list_or_tuple(const value& v) {
  return v.is_sequence() && (v.as_sequence().type == sequence_type::list ||
                             v.as_sequence().type == sequence_type::tuple);
}

/// Throws what using an undefined value reports, when v is one.
void require_defined(const value& v);

/// HTML escaping, as Markup does it.
text escape_html(context& ctx, const text& s);

}  // namespace vouch::engine::jinja
