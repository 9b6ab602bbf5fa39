#include <algorithm>

#include "engine/chat_template/context.hpp"
#include "engine/chat_template/methods.hpp"
#include "engine/chat_template/operators.hpp"
#include "engine/chat_template/repr.hpp"
#include "engine/chat_template/unicode.hpp"

// What is in a value: iteration, length, items, attributes, slices.
namespace vouch::engine::jinja {
namespace {

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
