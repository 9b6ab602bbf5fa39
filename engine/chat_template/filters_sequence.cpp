#include <algorithm>
#include <array>
#include <optional>

#include "engine/chat_template/context.hpp"
#include "engine/chat_template/filters.hpp"
#include "engine/chat_template/methods.hpp"
#include "engine/chat_template/operators.hpp"
#include "engine/chat_template/repr.hpp"
#include "engine/chat_template/unicode.hpp"

namespace vouch::engine::jinja {
namespace {

using bound_arguments = std::vector<std::optional<value>>;

bool flag(const std::optional<value>& v) { return v && v->truthy(); }
bool given(const std::optional<value>& v) { return v && !v->is_none(); }

value generator(std::vector<value> items) {
  return make_sequence(sequence_type::generator, std::move(items));
}

/// item.a.b.0 for the attribute "a.b.0" (or an integer).
/// An undefined value on the way becomes `fallback`, if there is one.
value attribute_of(context& ctx, const value& item, const value& path,
                   const std::optional<value>& fallback = std::nullopt) {
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

/// A sorting key: the item or its attribute, strings in lower case unless
/// case matters.
value sort_key(context& ctx, const value& item,
               const std::optional<value>& attribute, bool case_sensitive) {
  value key = given(attribute) ? attribute_of(ctx, item, *attribute) : item;
  if (!case_sensitive && key.is_string()) {
    ctx.charge_bytes(key.as_text().size() * 8);
    key = value{to_lower(key.as_text())};
  }
  return key;
}

struct keyed {
  value key;
  value item;
};

void stable_sort(context& ctx, std::vector<keyed>& all, bool reverse) {
  std::stable_sort(all.begin(), all.end(), [&](const keyed& a, const keyed& b) {
    return reverse ? less(ctx, b.key, a.key) : less(ctx, a.key, b.key);
  });
}

std::vector<keyed> with_keys(context& ctx, const value& v,
                             const std::optional<value>& attribute,
                             bool case_sensitive) {
  std::vector<keyed> all;
  for (value& item : iterate(ctx, v)) {
    value key = sort_key(ctx, item, attribute, case_sensitive);
    all.push_back({std::move(key), std::move(item)});
  }
  return all;
}

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

value dictsort(context& ctx, const value& v, const arguments& args) {
  const bound_arguments bound =
      bind("dictsort", args, {"case_sensitive", "by", "reverse"});
  const std::string by =
      bound[1] ? to_string_argument(*bound[1], "by").bytes() : "key";
  if (by != "key" && by != "value") {
    throw render_error("You can only sort by either \"key\" or \"value\"");
  }
  require_defined(v);
  if (!v.is_dict()) {
    throw render_error("'" + v.type_name() +
                       "' object has no attribute 'items'");
  }
  std::vector<keyed> all;
  for (const auto& [key, item] : v.as_dict().entries) {
    all.push_back(
        {sort_key(ctx, by == "key" ? key : item, std::nullopt, flag(bound[0])),
         make_tuple({key, item})});
  }
  stable_sort(ctx, all, flag(bound[2]));
  std::vector<value> sorted;
  sorted.reserve(all.size());
  for (keyed& k : all) sorted.push_back(std::move(k.item));
  return make_list(std::move(sorted));
}

value sort(context& ctx, const value& v, const arguments& args) {
  const bound_arguments bound =
      bind("sort", args, {"reverse", "case_sensitive", "attribute"});
  std::vector<keyed> all;
  for (value& item : iterate(ctx, v)) {
    std::vector<value> keys;
    if (given(bound[2]) && bound[2]->is_string()) {
      // Several attributes, separated by commas.
      const std::string_view names = bound[2]->bytes();
      for (std::size_t start = 0; start <= names.size();) {
        const std::size_t comma =
            std::min(names.find(',', start), names.size());
        keys.push_back(sort_key(
            ctx, item, make_string(names.substr(start, comma - start), true),
            flag(bound[1])));
        start = comma + 1;
      }
    } else {
      keys.push_back(sort_key(ctx, item, bound[2], flag(bound[1])));
    }
    value key = keys.size() == 1 ? keys[0] : make_list(std::move(keys));
    all.push_back({std::move(key), std::move(item)});
  }
  stable_sort(ctx, all, flag(bound[0]));
  std::vector<value> sorted;
  sorted.reserve(all.size());
  for (keyed& k : all) sorted.push_back(std::move(k.item));
  return make_list(std::move(sorted));
}

template <bool Largest>
value extreme(context& ctx, const value& v, const arguments& args) {
  const bound_arguments bound =
      bind("min", args, {"case_sensitive", "attribute"});
  const std::vector<keyed> all = with_keys(ctx, v, bound[1], flag(bound[0]));
  if (all.empty()) {
    return value::undefined("No aggregated item, sequence was empty.");
  }
  const keyed* best = &all[0];
  for (std::size_t i = 1; i < all.size(); ++i) {
    const compare_op op = Largest ? compare_op::gt : compare_op::lt;
    if (compare(ctx, op, all[i].key, best->key)) best = &all[i];
  }
  return best->item;
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

value unique(context& ctx, const value& v, const arguments& args) {
  const bound_arguments bound =
      bind("unique", args, {"case_sensitive", "attribute"});
  dict seen;
  std::vector<value> kept;
  for (keyed& k : with_keys(ctx, v, bound[1], flag(bound[0]))) {
    ctx.charge();
    if (seen.find(k.key)) continue;
    seen.set(k.key, value::none());
    kept.push_back(std::move(k.item));
  }
  return generator(std::move(kept));
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

value groupby(context& ctx, const value& v, const arguments& args) {
  const bound_arguments bound =
      bind("groupby", args, {"attribute", "default", "case_sensitive"}, 1);
  std::vector<keyed> all;
  for (value& item : iterate(ctx, v)) {
    value key = attribute_of(ctx, item, *bound[0], bound[1]);
    if (!flag(bound[2]) && key.is_string()) {
      key = value{to_lower(key.as_text())};
    }
    all.push_back({std::move(key), std::move(item)});
  }
  stable_sort(ctx, all, false);
  std::vector<value> groups;
  for (std::size_t i = 0; i < all.size();) {
    // The group's name in the spelling of its first member.
    value name = attribute_of(ctx, all[i].item, *bound[0], bound[1]);
    const value key = all[i].key;
    std::vector<value> members;
    for (; i < all.size() && equal(ctx, all[i].key, key); ++i) {
      members.push_back(all[i].item);
    }
    groups.push_back(make_tuple({name, make_list(std::move(members))}));
  }
  return make_list(std::move(groups));
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
    filter_entry{"dictsort", dictsort},
    filter_entry{"sort", sort},
    filter_entry{"min", extreme<false>},
    filter_entry{"max", extreme<true>},
    filter_entry{"sum", sum},
    filter_entry{"unique", unique},
    filter_entry{"batch", batch},
    filter_entry{"slice", slice},
    filter_entry{"groupby", groupby},
    filter_entry{"attr", attribute},
    filter_entry{"map", map},
    filter_entry{"select", select<true, false>},
    filter_entry{"reject", select<false, false>},
    filter_entry{"selectattr", select<true, true>},
    filter_entry{"rejectattr", select<false, true>},
};

}  // namespace

filter_function find_sequence_filter(std::string_view name) {
  for (const filter_entry& f : sequence_filters) {
    if (f.name == name) return f.function;
  }
  return nullptr;
}

}  // namespace vouch::engine::jinja
