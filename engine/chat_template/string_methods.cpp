#include <algorithm>
#include <array>

#include "engine/chat_template/context.hpp"
#include "engine/chat_template/methods.hpp"
#include "engine/chat_template/operators.hpp"
#include "engine/chat_template/unicode.hpp"

namespace vouch::engine::jinja {
namespace {

template <bool Left, bool Right>
value strip_method(context& ctx, const value& self, const arguments& args) {
  const bound_arguments bound = bind("strip", args, {"chars"});
  const text& s = self.as_text();
  ctx.charge_bytes(s.size());
  const byte_range r =
      given(bound[0])
          ? strip(s.bytes(), to_string_argument(*bound[0], "strip arg").bytes(),
                  Left, Right)
          : strip(s.bytes(), Left, Right);
  return value{s.slice(r.begin, r.end)};
}

template <text (*Convert)(const text&)>
value case_method(context& ctx, const value& self, const arguments& args) {
  bind("case conversion", args, {});
  ctx.charge_bytes(self.as_text().size() * 8);
  return value{Convert(self.as_text())};
}

value swapcase(context& ctx, const value& self, const arguments& args) {
  bind("swapcase", args, {});
  const text& s = self.as_text();
  ctx.charge_bytes(s.size() * 8);
  text out;
  for (std::size_t i = 0; i < s.size();) {
    const std::size_t start = i;
    const char32_t c = next_code_point(s.bytes(), i);
    const text piece = s.slice(start, i);
    ctx.charge(s.runs().size() / 4);
    out.append(is_upper(c) ? to_lower(piece) : to_upper(piece));
  }
  return value{std::move(out)};
}

template <bool Start>
value affix_test(context& ctx, const value& self, const arguments& args) {
  const char* name = Start ? "startswith" : "endswith";
  const bound_arguments bound = bind(name, args, {"affix", "start", "end"}, 1);
  value subject = self;
  if (bound[1] || bound[2]) {
    subject = get_slice(ctx, self, bound[1].value_or(value::none()),
                        bound[2].value_or(value::none()), value::none());
  }
  const std::string_view s = subject.bytes();
  const auto matches = [&](const value& v) {
    if (!v.is_string()) {
      require_defined(v);
      throw render_error(std::string{name} +
                         " first arg must be str or a tuple of str, not " +
                         v.type_name());
    }
    const std::string_view affix = v.bytes();
    return Start ? s.substr(0, affix.size()) == affix
                 : s.size() >= affix.size() &&
                       s.substr(s.size() - affix.size()) == affix;
  };
  const value& affix = *bound[0];
  if (affix.is_sequence() && affix.as_sequence().type == sequence_type::tuple) {
    const std::vector<value>& all = affix.as_sequence().items;
    return value{std::any_of(all.begin(), all.end(), matches)};
  }
  return value{matches(affix)};
}

template <bool Prefix>
value remove_affix(context& ctx, const value& self, const arguments& args) {
  const bound_arguments bound = bind("removeprefix", args, {"affix"}, 1);
  const text& s = self.as_text();
  ctx.charge_bytes(s.size());
  const std::string_view bytes = s.bytes();
  const std::string_view affix = to_string_argument(*bound[0], "affix").bytes();
  if (affix.empty() || bytes.size() < affix.size()) return self;
  const std::size_t rest = bytes.size() - affix.size();
  if (Prefix) {
    if (bytes.substr(0, affix.size()) != affix) return self;
    return value{s.slice(affix.size(), bytes.size())};
  }
  if (bytes.substr(rest) != affix) return self;
  return value{s.slice(0, rest)};
}

value replace(context& ctx, const value& self, const arguments& args) {
  const bound_arguments bound =
      bind("replace", args, {"old", "new", "count"}, 2);
  return value{replace_all(ctx, self.as_text(),
                           to_string_argument(*bound[0], "replace argument 1"),
                           to_string_argument(*bound[1], "replace argument 2"),
                           bound[2] ? to_integer(*bound[2], "count") : -1)};
}

/// find, rfind, index, rindex: a code point index, or -1.
std::int64_t find_in(context& ctx, const value& self, const arguments& args,
                     bool from_right) {
  const bound_arguments bound = bind("find", args, {"sub", "start", "end"}, 1);
  value subject = self;
  std::int64_t base = 0;
  if (bound[1] || bound[2]) {
    const value start = bound[1].value_or(value::none());
    subject = get_slice(ctx, self, start, bound[2].value_or(value::none()),
                        value::none());
    if (start.is_integral()) {
      const auto size = static_cast<std::int64_t>(length(ctx, self));
      base = start.as_int() < 0
                 ? std::max<std::int64_t>(0, start.as_int() + size)
                 : start.as_int();
      if (base > size) return -1;
    }
  }
  const std::string& wanted = to_string_argument(*bound[0], "sub").bytes();
  const std::string& s = subject.bytes();
  ctx.charge(s.size() / 64);
  const std::size_t at =
      from_right ? s.rfind(wanted) : find_bytes(s, wanted, 0);
  if (at == std::string::npos) return -1;
  return base + static_cast<std::int64_t>(
                    code_point_count(std::string_view{s}.substr(0, at)));
}

template <bool Right, bool Required>
value find(context& ctx, const value& self, const arguments& args) {
  const std::int64_t at = find_in(ctx, self, args, Right);
  if (Required && at < 0) throw render_error("substring not found");
  return value{at};
}

value count(context& ctx, const value& self, const arguments& args) {
  const bound_arguments bound = bind("count", args, {"sub"}, 1);
  const std::string& wanted = to_string_argument(*bound[0], "sub").bytes();
  const std::string& s = self.bytes();
  ctx.charge(s.size() / 64);
  if (wanted.empty()) return value::size(code_point_count(s) + 1);
  return value::size(split_at(s, wanted, -1).size() - 1);
}

value join(context& ctx, const value& self, const arguments& args) {
  const bound_arguments bound = bind("join", args, {"iterable"}, 1);
  require_defined(*bound[0]);
  std::vector<text> parts;
  for (const value& v : iterate(ctx, *bound[0])) {
    if (!v.is_string()) {
      throw render_error("sequence item " + std::to_string(parts.size()) +
                         ": expected str instance, " + v.type_name() +
                         " found");
    }
    parts.push_back(v.as_text());
  }
  return value{join_texts(ctx, parts, self.as_text())};
}

template <class Test>
value all_code_points(context& ctx, const value& self, const arguments& args,
                      Test test) {
  bind("character test", args, {});
  const std::string& s = self.bytes();
  ctx.charge(s.size() / 16);
  if (s.empty()) return value{false};
  for (std::size_t i = 0; i < s.size();) {
    if (!test(next_code_point(s, i))) return value{false};
  }
  return value{true};
}

bool is_digit(char32_t c) { return c >= '0' && c <= '9'; }

value isdigit(context& ctx, const value& self, const arguments& args) {
  return all_code_points(ctx, self, args, is_digit);
}
value isalpha(context& ctx, const value& self, const arguments& args) {
  return all_code_points(ctx, self, args, is_letter);
}
value isalnum(context& ctx, const value& self, const arguments& args) {
  return all_code_points(
      ctx, self, args, [](char32_t c) { return is_digit(c) || is_letter(c); });
}
value isspace(context& ctx, const value& self, const arguments& args) {
  return all_code_points(ctx, self, args, is_space);
}

template <bool Upper>
value is_case(context& ctx, const value& self, const arguments& args) {
  bool cased = false;
  const value consistent = all_code_points(ctx, self, args, [&](char32_t c) {
    cased = cased || is_upper(c) || is_lower(c);
    return Upper ? !is_lower(c) : !is_upper(c);
  });
  return value{consistent.as_bool() && cased};
}

enum class side { left, right, both };

template <side Where>
value pad(context& ctx, const value& self, const arguments& args) {
  const bound_arguments bound = bind("justify", args, {"width", "fillchar"}, 1);
  const auto size = static_cast<std::int64_t>(length(ctx, self));
  const std::int64_t width = to_integer(*bound[0], "width");
  text fill{" ", true};
  if (bound[1]) fill = to_string_argument(*bound[1], "fillchar");
  if (code_point_count(fill.bytes()) != 1) {
    throw render_error("The fill character must be exactly one character long");
  }
  if (width <= size) return self;
  const std::int64_t room = width - size;
  ctx.charge_bytes(static_cast<std::size_t>(width));
  ctx.charge_bytes(static_cast<std::size_t>(room) * fill.size() +
                   self.as_text().size());
  const std::int64_t left = Where == side::left ? room
                            : Where == side::right
                                ? 0
                                : room / 2 + (room & width & 1);
  text out;
  for (std::int64_t i = 0; i < left; ++i) out.append(fill);
  out.append(self.as_text());
  for (std::int64_t i = left; i < room; ++i) out.append(fill);
  return value{std::move(out)};
}

value zfill(context& ctx, const value& self, const arguments& args) {
  const bound_arguments bound = bind("zfill", args, {"width"}, 1);
  const text& s = self.as_text();
  const auto size = static_cast<std::int64_t>(length(ctx, self));
  const std::int64_t width = to_integer(*bound[0], "width");
  if (width <= size) return self;
  ctx.charge_bytes(static_cast<std::size_t>(width));
  ctx.charge_bytes(static_cast<std::size_t>(width) + s.size());
  const bool sign = !s.empty() && (s.bytes()[0] == '-' || s.bytes()[0] == '+');
  text out = s.slice(0, sign ? 1 : 0);
  out.append(std::string(static_cast<std::size_t>(width - size), '0'), true);
  out.append(s.slice(sign ? 1 : 0, s.size()));
  return value{std::move(out)};
}

value format(context& ctx, const value& self, const arguments& args) {
  return value{format_braces(ctx, self.as_text(), args)};
}

constexpr std::array string_methods{
    method{"strip", strip_method<true, true>},
    method{"lstrip", strip_method<true, false>},
    method{"rstrip", strip_method<false, true>},
    method{"startswith", affix_test<true>},
    method{"endswith", affix_test<false>},
    method{"removeprefix", remove_affix<true>},
    method{"removesuffix", remove_affix<false>},
    method{"replace", replace},
    method{"find", find<false, false>},
    method{"rfind", find<true, false>},
    method{"index", find<false, true>},
    method{"rindex", find<true, true>},
    method{"count", count},
    method{"join", join},
    method{"format", format},
    method{"upper", case_method<to_upper>},
    method{"lower", case_method<to_lower>},
    method{"casefold", case_method<to_lower>},
    method{"title", case_method<to_title>},
    method{"capitalize", case_method<to_capitalized>},
    method{"swapcase", swapcase},
    method{"isdigit", isdigit},
    method{"isdecimal", isdigit},
    method{"isnumeric", isdigit},
    method{"isalpha", isalpha},
    method{"isalnum", isalnum},
    method{"isspace", isspace},
    method{"isupper", is_case<true>},
    method{"islower", is_case<false>},
    method{"ljust", pad<side::right>},
    method{"rjust", pad<side::left>},
    method{"center", pad<side::both>},
    method{"zfill", zfill},
};

}  // namespace

method_function find_string_method(std::string_view name) {
  for (const method& m : string_methods) {
    if (m.name == name) return m.function;
  }
  return find_splitting_method(name);
}

text replace_all(context& ctx, const text& s, const text& old_part,
                 const text& new_part, std::int64_t count) {
  ctx.charge_bytes(s.size());
  text out;
  out.markup = s.markup;
  std::size_t start = 0;
  const std::string_view bytes = s.bytes();
  const std::string& wanted = old_part.bytes();
  std::size_t from = 0;
  while (count != 0) {
    const std::size_t at = find_bytes(bytes, wanted, from);
    if (at == std::string_view::npos) break;
    ctx.charge(1 + s.runs().size() / 8);
    out.append(s.slice(start, at));
    out.append(new_part);
    ctx.check_bytes(out.size());
    start = at + wanted.size();
    from = start;
    if (wanted.empty()) {
      if (at >= bytes.size()) break;
      next_code_point(bytes, from);
    }
    if (count > 0) --count;
  }
  out.append(s.slice(start, s.size()));
  ctx.charge_bytes(out.size());
  return out;
}

text join_texts(context& ctx, const std::vector<text>& parts,
                const text& separator) {
  text out;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    if (i > 0) out.append(separator);
    out.append(parts[i]);
    ctx.charge();
    ctx.check_bytes(out.size());
  }
  ctx.charge_bytes(out.size());
  return out;
}

}  // namespace vouch::engine::jinja
