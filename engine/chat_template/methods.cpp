#include "engine/chat_template/methods.hpp"

#include <algorithm>
#include <array>

#include "engine/chat_template/context.hpp"
#include "engine/chat_template/operators.hpp"
#include "engine/chat_template/repr.hpp"

namespace vouch::engine::jinja {
namespace {

class bound_method final : public callable {
 public:
  bound_method(std::string_view name, method_function function, value self)
      : name_(name), function_(function), self_(std::move(self)) {}
  value call(context& ctx, const arguments& args) override {
    return function_(ctx, self_, args);
  }
  std::string describe() const override {
    return "<built-in method " + std::string{name_} + " of " +
           self_.type_name() + " object>";
  }
  int depth() const override { return self_.depth() + 1; }

 private:
  std::string_view name_;
  method_function function_;
  value self_;
};

value view(context& ctx, const value& self, sequence_type type) {
  const dict& d = self.as_dict();
  ctx.charge(d.entries.size());
  std::vector<value> items;
  items.reserve(d.entries.size());
  for (const auto& [key, item] : d.entries) {
    if (type == sequence_type::keys) {
      items.push_back(key);
    } else if (type == sequence_type::values) {
      items.push_back(item);
    } else {
      items.push_back(make_tuple({key, item}));
    }
  }
  return make_sequence(type, std::move(items), d.tainted);
}

value dict_items(context& ctx, const value& self, const arguments& args) {
  bind("items", args, {});
  return view(ctx, self, sequence_type::items);
}

value dict_keys(context& ctx, const value& self, const arguments& args) {
  bind("keys", args, {});
  return view(ctx, self, sequence_type::keys);
}

value dict_values(context& ctx, const value& self, const arguments& args) {
  bind("values", args, {});
  return view(ctx, self, sequence_type::values);
}

value dict_get(context& ctx, const value& self, const arguments& args) {
  ctx.charge();
  if (!args.keywords.empty()) {
    throw render_error("dict.get() takes no keyword arguments");
  }
  const auto bound = bind("get", args, {"key", "default"}, 1);
  if (const value* item = self.as_dict().find(*bound[0])) return *item;
  return bound[1] ? *bound[1] : value::none();
}

value copy(context&, const value& self, const arguments& args) {
  bind("copy", args, {});
  return self;
}

value list_count(context& ctx, const value& self, const arguments& args) {
  const auto bound = bind("count", args, {"value"}, 1);
  std::size_t n = 0;
  for (const value& item : self.as_sequence().items) {
    if (equal(ctx, item, *bound[0])) ++n;
  }
  return value::size(n);
}

value list_index(context& ctx, const value& self, const arguments& args) {
  const auto bound = bind("index", args, {"value"}, 1);
  const std::vector<value>& items = self.as_sequence().items;
  for (std::size_t i = 0; i < items.size(); ++i) {
    if (equal(ctx, items[i], *bound[0])) return value::size(i);
  }
  if (self.type_name() == "tuple") {
    throw render_error("tuple.index(x): x not in tuple");
  }
  throw render_error(short_repr(ctx, *bound[0]) + " is not in " +
                     self.type_name());
}

constexpr std::array dict_methods{
    method{"items", dict_items},   method{"keys", dict_keys},
    method{"values", dict_values}, method{"get", dict_get},
    method{"copy", copy},
};

constexpr std::array list_methods{
    method{"count", list_count},
    method{"index", list_index},
    method{"copy", copy},
};

constexpr std::array<std::string_view, 8> list_mutators{
    "append", "clear", "pop", "reverse", "insert", "sort", "extend", "remove"};
constexpr std::array<std::string_view, 5> dict_mutators{
    "clear", "pop", "popitem", "setdefault", "update"};

template <class Table>
method_function find_in(const Table& table, std::string_view name) {
  for (const method& m : table) {
    if (m.name == name) return m.function;
  }
  return nullptr;
}

template <class Names>
bool among(const Names& names, std::string_view name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

}  // namespace

value wrap_method(std::string_view name, method_function function, value self) {
  return value{callable_ptr{
      std::make_shared<bound_method>(name, function, std::move(self))}};
}

value find_attribute(context& ctx, const value& v, std::string_view name) {
  method_function function = nullptr;
  std::string_view static_name = name;
  const auto look = [&](const auto& table) {
    for (const method& m : table) {
      if (m.name != name) continue;
      function = m.function;
      static_name = m.name;
    }
  };
  if (v.is_dict()) {
    look(dict_methods);
  } else if (v.is_sequence()) {
    const sequence_type type = v.as_sequence().type;
    const bool is_list = type == sequence_type::list;
    const bool is_tuple =
        type == sequence_type::tuple || type == sequence_type::range;
    if (is_list || (is_tuple && name != "copy")) look(list_methods);
  } else if (v.is_string()) {
    function = find_string_method(name);
    if (function) return wrap_method("str method", function, v);
  } else if (v.is_loop()) {
    return loop_attribute(ctx, v, name);
  } else if (v.is_callable() && name == "name") {
    return v.as_callable().name();
  }
  if (!function) return {};
  return wrap_method(static_name, function, v);
}

bool is_forbidden(const value& v, std::string_view name) {
  if (name.substr(0, 2) == "__") return true;
  if (v.is_dict()) return among(dict_mutators, name);
  if (v.is_sequence() && v.as_sequence().type == sequence_type::list) {
    return among(list_mutators, name);
  }
  return false;
}

value forbidden(const value& v, std::string_view name) {
  return value::undefined("access to attribute '" + std::string{name} +
                          "' of '" + v.type_name() + "' object is unsafe.");
}

value loop_attribute(context& ctx, const value& self, std::string_view name) {
  const loop_state& loop = self.as_loop();
  const std::size_t index = loop.index;
  const std::size_t count = loop.items.size();
  if (name == "index") return value::size(index + 1);
  if (name == "index0") return value::size(index);
  if (name == "revindex") return value::size(count - index);
  if (name == "revindex0") return value::size(count - index - 1);
  if (name == "first") return value{index == 0};
  if (name == "last") return value{index + 1 == count};
  if (name == "length") return value::size(count);
  if (name == "depth") return value{std::int64_t{loop.depth}};
  if (name == "depth0") return value{std::int64_t{loop.depth} - 1};
  if (name == "previtem") {
    return index > 0 ? loop.items[index - 1]
                     : value::undefined("there is no previous item");
  }
  if (name == "nextitem") {
    return index + 1 < count ? loop.items[index + 1]
                             : value::undefined("there is no next item");
  }
  if (name == "cycle") {
    return wrap_method(
        "cycle",
        [](context&, const value& v, const arguments& args) {
          if (args.positional.empty()) {
            throw render_error("no items for cycling given");
          }
          return args.positional[v.as_loop().index % args.positional.size()];
        },
        self);
  }
  if (name == "changed") {
    return wrap_method(
        "changed",
        [](context& c, const value& v, const arguments& args) {
          const loop_state& l = v.as_loop();
          const bool same =
              l.has_changed &&
              l.last_changed.size() == args.positional.size() &&
              std::equal(args.positional.begin(), args.positional.end(),
                         l.last_changed.begin(),
                         [&](const value& a, const value& b) {
                           return equal(c, a, b);
                         });
          l.last_changed = args.positional;
          l.has_changed = true;
          return value{!same};
        },
        self);
  }
  (void)ctx;
  return {};
}

}  // namespace vouch::engine::jinja
