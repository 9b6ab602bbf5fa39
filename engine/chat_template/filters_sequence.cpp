#include <algorithm>
#include <array>
#include <optional>

#include "engine/chat_template/context.hpp"
#include "engine/chat_template/filters.hpp"
#include "engine/chat_template/methods.hpp"
#include "engine/chat_template/operators.hpp"
#include "engine/chat_template/repr.hpp"

namespace vouch::engine::jinja {
namespace {

value default_value(context&, const value& v, const arguments& args) {
  const bound_arguments bound =
      bind("default", args, {"default_value", "boolean"});
  if (v.is_undefined() || (flag(bound[1]) && !v.truthy())) {
    return bound[0].value_or(value{text{}});
  }
  return v;
}

value length_filter(context& ctx, const value& v, const arguments& args) {
  bind("length", args, {});
  return value::size(length(ctx, v));
}

value list(context& ctx, const value& v, const arguments& args) {
  bind("list", args, {});
  return make_list(iterate(ctx, v));
}

value first(context& ctx, const value& v, const arguments& args) {
  bind("first", args, {});
  const std::vector<value> items = iterate(ctx, v);
  return items.empty() ? value::undefined("No first item, sequence was empty.")
                       : items.front();
}

value last(context& ctx, const value& v, const arguments& args) {
  bind("last", args, {});
  if (v.is_number() || v.is_none()) {
    throw render_error("'" + v.type_name() + "' object is not reversible");
  }
  const std::vector<value> items = iterate(ctx, v);
  return items.empty() ? value::undefined("No last item, sequence was empty.")
                       : items.back();
}

value reverse(context& ctx, const value& v, const arguments& args) {
  bind("reverse", args, {});
  if (v.is_string()) {
    return get_slice(ctx, v, value::none(), value::none(),
                     value{std::int64_t{-1}});
  }
  if (v.is_number() || v.is_none()) {
    throw render_error("argument must be iterable");
  }
  std::vector<value> items = iterate(ctx, v);
  std::reverse(items.begin(), items.end());
  return generator(std::move(items));
}

value join(context& ctx, const value& v, const arguments& args) {
  const bound_arguments bound = bind("join", args, {"d", "attribute"});
  std::vector<text> parts;
  for (const value& item : iterate(ctx, v)) {
    parts.push_back(to_text(
        ctx, given(bound[1]) ? attribute_of(ctx, item, *bound[1]) : item));
  }
  const text separator = bound[0] ? to_text(ctx, *bound[0]) : text{};
  return value{join_texts(ctx, parts, separator)};
}

value items(context& ctx, const value& v, const arguments& args) {
  bind("items", args, {});
  if (v.is_undefined()) return generator({});
  if (!v.is_dict()) {
    throw render_error("Can only get item pairs from a mapping.");
  }
  std::vector<value> pairs;
  for (const auto& [key, item] : v.as_dict().entries) {
    ctx.charge();
    pairs.push_back(make_tuple({key, item}));
  }
  return generator(std::move(pairs));
}

value sum(context& ctx, const value& v, const arguments& args) {
  const bound_arguments bound = bind("sum", args, {"attribute", "start"});
  value total = bound[1].value_or(value{std::int64_t{0}});
  if (total.is_string()) {
    throw render_error("sum() can't sum strings [use ''.join(seq) instead]");
  }
  for (const value& item : iterate(ctx, v)) {
    total = binary(ctx, binary_op::add, total,
                   given(bound[0]) ? attribute_of(ctx, item, *bound[0]) : item);
  }
  return total;
}

value batch(context& ctx, const value& v, const arguments& args) {
  const bound_arguments bound =
      bind("batch", args, {"linecount", "fill_with"}, 1);
  const std::int64_t size = to_integer(*bound[0], "linecount");
  if (size < 1) throw render_error("batch needs a positive size");
  std::vector<value> rows;
  std::vector<value> row;
  for (value& item : iterate(ctx, v)) {
    if (static_cast<std::int64_t>(row.size()) == size) {
      rows.push_back(make_list(std::move(row)));
      row.clear();
    }
    row.push_back(std::move(item));
  }
  if (!row.empty()) {
    while (given(bound[1]) && static_cast<std::int64_t>(row.size()) < size) {
      ctx.charge();
      row.push_back(*bound[1]);
    }
    rows.push_back(make_list(std::move(row)));
  }
  return generator(std::move(rows));
}

value slice(context& ctx, const value& v, const arguments& args) {
  const bound_arguments bound = bind("slice", args, {"slices", "fill_with"}, 1);
  const std::int64_t count = to_integer(*bound[0], "slices");
  if (count < 1) throw render_error("slice needs a positive count");
  const std::vector<value> all = iterate(ctx, v);
  const auto slices = static_cast<std::size_t>(count);
  const std::size_t per_slice = all.size() / slices;
  const std::size_t longer = all.size() % slices;
  std::vector<value> rows;
  std::size_t at = 0;
  for (std::size_t i = 0; i < slices; ++i) {
    ctx.charge();
    const std::size_t end = at + per_slice + (i < longer ? 1 : 0);
    std::vector<value> row(all.begin() + static_cast<std::ptrdiff_t>(at),
                           all.begin() + static_cast<std::ptrdiff_t>(end));
    if (given(bound[1]) && i >= longer) row.push_back(*bound[1]);
    rows.push_back(make_list(std::move(row)));
    at = end;
  }
  return generator(std::move(rows));
}

value attribute(context& ctx, const value& v, const arguments& args) {
  const bound_arguments bound = bind("attr", args, {"name"}, 1);
  const std::string& name = to_string_argument(*bound[0], "name").bytes();
  require_defined(v);
  if (v.is_namespace() || !v.is_dict()) return get_attribute(ctx, v, name);
  value method = find_attribute(ctx, v, name);
  if (!method.is_undefined()) return method;
  return value::undefined("'dict object' has no attribute '" + name + "'");
}

value map(context& ctx, const value& v, const arguments& args) {
  std::vector<value> mapped;
  // Jinja does not look at what is falsy, none included.
  if (!v.truthy()) return generator({});
  if (args.positional.empty()) {
    const bound_arguments bound =
        bind("map", args, {"attribute", "default"}, 0);
    if (!bound[0]) throw render_error("map requires a filter argument");
    for (const value& item : iterate(ctx, v)) {
      mapped.push_back(attribute_of(ctx, item, *bound[0], bound[1]));
    }
    return generator(std::move(mapped));
  }
  const std::string& name =
      to_string_argument(args.positional[0], "map's filter").bytes();
  const filter_function filter = find_filter(name);
  if (!filter) throw render_error("No filter named '" + name + "'.");
  arguments rest = args;
  rest.positional.erase(rest.positional.begin());
  const context::nesting guard{ctx};
  for (const value& item : iterate(ctx, v)) {
    ctx.charge();
    mapped.push_back(filter(ctx, item, rest));
  }
  return generator(std::move(mapped));
}

/// select, reject, selectattr, rejectattr.
template <bool Keep, bool OfAttribute>
value select(context& ctx, const value& v, const arguments& args) {
  if (!v.truthy()) return generator({});
  arguments rest = args;
  std::optional<value> path;
  if (OfAttribute) {
    if (rest.positional.empty()) {
      throw render_error("Missing parameter for attribute name");
    }
    path = rest.positional[0];
    rest.positional.erase(rest.positional.begin());
  }
  test_function test = nullptr;
  if (!rest.positional.empty()) {
    const std::string& name =
        to_string_argument(rest.positional[0], "test name").bytes();
    test = find_test(name);
    if (!test) throw render_error("No test named '" + name + "'.");
    rest.positional.erase(rest.positional.begin());
  }
  std::vector<value> kept;
  for (value& item : iterate(ctx, v)) {
    ctx.charge();
    const value subject = path ? attribute_of(ctx, item, *path) : item;
    const bool passes = test ? test(ctx, subject, rest) : subject.truthy();
    if (passes == Keep) kept.push_back(std::move(item));
  }
  return generator(std::move(kept));
}

constexpr std::array sequence_filters{
    filter_entry{"default", default_value},
    filter_entry{"d", default_value},
    filter_entry{"length", length_filter},
    filter_entry{"count", length_filter},
    filter_entry{"list", list},
    filter_entry{"first", first},
    filter_entry{"last", last},
    filter_entry{"reverse", reverse},
    filter_entry{"join", join},
    filter_entry{"items", items},
    filter_entry{"sum", sum},
    filter_entry{"batch", batch},
    filter_entry{"slice", slice},
    filter_entry{"attr", attribute},
    filter_entry{"map", map},
    filter_entry{"select", select<true, false>},
    filter_entry{"reject", select<false, false>},
    filter_entry{"selectattr", select<true, true>},
    filter_entry{"rejectattr", select<false, true>},
};

}  // namespace

value attribute_of(context& ctx, const value& item, const value& path,
                   const std::optional<value>& fallback) {
  if (!path.is_string()) {
    value v = get_item(ctx, item, path);
    return v.is_undefined() && fallback ? *fallback : v;
  }
  value v = item;
  const std::string_view all = path.bytes();
  for (std::size_t start = 0; start <= all.size();) {
    const std::size_t dot = std::min(all.find('.', start), all.size());
    const std::string_view part = all.substr(start, dot - start);
    const bool number = !part.empty() && part.size() < 10 &&
                        std::all_of(part.begin(), part.end(), [](char c) {
                          return c >= '0' && c <= '9';
                        });
    v = get_item(ctx, v,
                 number ? value{std::int64_t{std::stoi(std::string{part})}}
                        : make_string(part, true));
    if (v.is_undefined() && fallback) v = *fallback;
    start = dot + 1;
  }
  return v;
}

filter_function find_sequence_filter(std::string_view name) {
  for (const filter_entry& f : sequence_filters) {
    if (f.name == name) return f.function;
  }
  return nullptr;
}

}  // namespace vouch::engine::jinja
