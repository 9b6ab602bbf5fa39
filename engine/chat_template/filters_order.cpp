#include <algorithm>
#include <array>
#include <optional>

#include "engine/chat_template/context.hpp"
#include "engine/chat_template/filters.hpp"
#include "engine/chat_template/methods.hpp"
#include "engine/chat_template/operators.hpp"
#include "engine/chat_template/unicode.hpp"

// The filters that compare items with each other.
namespace vouch::engine::jinja {
namespace {

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

constexpr std::array ordering_filters{
    filter_entry{"dictsort", dictsort},  filter_entry{"sort", sort},
    filter_entry{"min", extreme<false>}, filter_entry{"max", extreme<true>},
    filter_entry{"unique", unique},      filter_entry{"groupby", groupby},
};

}  // namespace

filter_function find_ordering_filter(std::string_view name) {
  for (const filter_entry& f : ordering_filters) {
    if (f.name == name) return f.function;
  }
  return nullptr;
}

}  // namespace vouch::engine::jinja
