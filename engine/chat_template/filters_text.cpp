#include <algorithm>
#include <array>

#include "engine/chat_template/context.hpp"
#include "engine/chat_template/filters.hpp"
#include "engine/chat_template/json.hpp"
#include "engine/chat_template/methods.hpp"
#include "engine/chat_template/operators.hpp"
#include "engine/chat_template/repr.hpp"
#include "engine/chat_template/unicode.hpp"

namespace vouch::engine::jinja {
namespace {

template <text (*Convert)(const text&)>
value convert_case(context& ctx, const value& v, const arguments& args) {
  bind("filter", args, {});
  const text s = to_text(ctx, v);
  ctx.charge_bytes(s.size() * 8);
  return value{Convert(s)};
}

value trim(context& ctx, const value& v, const arguments& args) {
  const bound_arguments bound = bind("trim", args, {"chars"});
  const text s = to_text(ctx, v);
  ctx.charge_bytes(s.size());
  const byte_range r =
      bound[0] && !bound[0]->is_none()
          ? strip(s.bytes(), to_string_argument(*bound[0], "chars").bytes(),
                  true, true)
          : strip(s.bytes(), true, true);
  return value{s.slice(r.begin, r.end)};
}

value replace(context& ctx, const value& v, const arguments& args) {
  const bound_arguments bound =
      bind("replace", args, {"old", "new", "count"}, 2);
  std::int64_t count = -1;
  if (bound[2] && !bound[2]->is_none()) count = to_integer(*bound[2], "count");
  text s = to_text(ctx, v);
  s.markup = false;
  return value{replace_all(ctx, s, to_text(ctx, *bound[0]),
                           to_text(ctx, *bound[1]), count)};
}

value string(context& ctx, const value& v, const arguments& args) {
  bind("string", args, {});
  return value{to_text(ctx, v)};
}

value safe(context& ctx, const value& v, const arguments& args) {
  bind("safe", args, {});
  text s = to_text(ctx, v);
  s.markup = true;
  return value{std::move(s)};
}

value escape(context& ctx, const value& v, const arguments& args) {
  bind("escape", args, {});
  const text s = to_text(ctx, v);
  return value{s.markup ? s : escape_html(ctx, s)};
}

value force_escape(context& ctx, const value& v, const arguments& args) {
  bind("forceescape", args, {});
  return value{escape_html(ctx, to_text(ctx, v))};
}

value to_json_filter(context& ctx, const value& v, const arguments& args) {
  const bound_arguments bound = bind(
      "tojson", args, {"ensure_ascii", "indent", "separators", "sort_keys"});
  json_options options;
  options.ensure_ascii = flag(bound[0]);
  options.sort_keys = flag(bound[3]);
  if (bound[1] && !bound[1]->is_none()) {
    if (bound[1]->is_string()) {
      options.indent_text = bound[1]->bytes();
      options.trusted = bound[1]->as_text().trusted();
    } else {
      const auto width = static_cast<std::size_t>(
          std::max<std::int64_t>(to_integer(*bound[1], "indent"), 0));
      ctx.charge_bytes(width);
      options.indent_text.assign(width, ' ');
    }
    options.indent = static_cast<std::int64_t>(options.indent_text.size());
    options.item_separator.assign(1, ',');
  }
  if (bound[2] && !bound[2]->is_none()) {
    const std::vector<value> both = iterate(ctx, *bound[2]);
    if (both.size() != 2) {
      throw render_error("separators must be two strings");
    }
    for (const value& separator : both) {
      options.trusted = options.trusted &&
                        to_string_argument(separator, "separator").trusted();
    }
    options.item_separator = to_string_argument(both[0], "separator").bytes();
    options.key_separator = to_string_argument(both[1], "separator").bytes();
  }
  return value{to_json(ctx, v, options)};
}

value indent(context& ctx, const value& v, const arguments& args) {
  const bound_arguments bound =
      bind("indent", args, {"width", "first", "blank"});
  if (!v.is_string()) {
    require_defined(v);
    throw render_error("unsupported operand type(s) for +=: '" + v.type_name() +
                       "' and 'str'");
  }
  const text s = to_text(ctx, v);
  text prefix{"    ", true};
  if (bound[0] && bound[0]->is_string()) {
    prefix = bound[0]->as_text();
  } else if (bound[0]) {
    const std::int64_t width = to_integer(*bound[0], "width");
    const auto size = static_cast<std::size_t>(
        std::clamp<std::int64_t>(width, 0, std::int64_t{1} << 30));
    ctx.charge_bytes(size);
    prefix = text{std::string(size, ' '), true};
  }
  const text newline{"\n", true};
  text terminated = s;
  terminated.append(newline);
  text out;
  out.markup = s.markup;
  bool first_line = true;
  for (const text& line : split_lines(ctx, terminated, false)) {
    if (!first_line) out.append(newline);
    const bool indented =
        first_line ? flag(bound[1]) : flag(bound[2]) || !line.empty();
    if (indented) out.append(prefix);
    out.append(line);
    ctx.charge(1 + prefix.size() / 512);
    ctx.check_bytes(out.size());
    first_line = false;
  }
  return value{std::move(out)};
}

value center(context& ctx, const value& v, const arguments& args) {
  const bound_arguments bound = bind("center", args, {"width"});
  const value subject{to_text(ctx, v)};
  arguments forwarded;
  forwarded.positional.push_back(bound[0].value_or(value{std::int64_t{80}}));
  return find_string_method("center")(ctx, subject, forwarded);
}

value format(context& ctx, const value& v, const arguments& args) {
  const text s = to_text(ctx, v);
  if (!args.keywords.empty()) {
    if (!args.positional.empty()) {
      throw render_error(
          "can't handle positional and keyword arguments at the same time");
    }
    dict d;
    for (const auto& [name, item] : args.keywords) {
      d.set(make_string(name, true), item);
    }
    return value{format_percent(ctx, s, make_dict(std::move(d)))};
  }
  return value{format_percent(ctx, s, make_tuple(args.positional))};
}

value truncate(context& ctx, const value& v, const arguments& args) {
  const bound_arguments bound =
      bind("truncate", args, {"length", "killwords", "end", "leeway"});
  if (!v.is_string()) {
    if (length(ctx, v) < 256) return v;
    throw render_error("truncate needs a string");
  }
  const text s = to_text(ctx, v);
  const std::int64_t length_limit =
      bound[0] ? to_integer(*bound[0], "length") : 255;
  const text end =
      bound[2] ? to_string_argument(*bound[2], "end") : text{"...", true};
  const auto end_size =
      static_cast<std::int64_t>(code_point_count(end.bytes()));
  const std::int64_t leeway =
      bound[3] && !bound[3]->is_none() ? to_integer(*bound[3], "leeway") : 5;
  if (length_limit < end_size) {
    throw render_error("expected length >= " + std::to_string(end_size) +
                       ", got " + std::to_string(length_limit));
  }
  const auto size = static_cast<std::int64_t>(code_point_count(s.bytes()));
  if (size - leeway <= length_limit) return value{s};
  std::size_t cut =
      byte_offset(s.bytes(), static_cast<std::size_t>(length_limit - end_size));
  if (!flag(bound[1])) {
    const std::size_t space = s.bytes().substr(0, cut).rfind(' ');
    if (space != std::string::npos) cut = space;
  }
  text out = s.slice(0, cut);
  out.append(end);
  return value{std::move(out)};
}

value wordcount(context& ctx, const value& v, const arguments& args) {
  bind("wordcount", args, {});
  const text s = to_text(ctx, v);
  ctx.charge_bytes(s.size());
  std::size_t words = 0;
  bool inside = false;
  for (std::size_t i = 0; i < s.size();) {
    const char32_t c = next_code_point(s.bytes(), i);
    const bool word = c == '_' || (c >= '0' && c <= '9') || is_letter(c);
    if (word && !inside) ++words;
    inside = word;
  }
  return value::size(words);
}

void append_quoted(text& out, const text& s, bool in_query) {
  constexpr std::string_view hex = "0123456789ABCDEF";
  std::size_t i = 0;
  for (const text::run& run : s.runs()) {
    for (const std::size_t end = i + run.length; i < end; ++i) {
      const char c = s.bytes()[i];
      const bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
                         (c >= '0' && c <= '9') || c == '-' || c == '_' ||
                         c == '.' || c == '~' || (c == '/' && !in_query);
      const auto byte = static_cast<unsigned char>(c);
      const char escaped[] = {'%', hex[byte >> 4U], hex[byte & 15U]};
      if (plain) {
        out.append({&c, 1}, run.trusted);
      } else if (c == ' ' && in_query) {
        out.append("+", run.trusted);
      } else {
        out.append({escaped, 3}, run.trusted);
      }
    }
  }
}

value urlencode(context& ctx, const value& v, const arguments& args) {
  bind("urlencode", args, {});
  text out;
  if (!v.is_dict() && !v.is_sequence()) {
    const text s = to_text(ctx, v);
    ctx.charge_bytes(s.size() * 3);
    append_quoted(out, s, false);
    return value{std::move(out)};
  }
  std::vector<value> pairs;
  if (v.is_dict()) {
    for (const auto& [key, item] : v.as_dict().entries) {
      pairs.push_back(make_tuple({key, item}));
    }
  } else {
    pairs = iterate(ctx, v);
  }
  for (const value& pair : pairs) {
    const std::vector<value> both = iterate(ctx, pair);
    if (both.size() != 2) throw render_error("urlencode needs pairs");
    if (!out.empty()) out.append("&", true);
    for (int i = 0; i < 2; ++i) {
      const text s = to_text(ctx, both[static_cast<std::size_t>(i)]);
      ctx.charge_bytes(out.size() + s.size() * 3);
      if (i == 1) out.append("=", true);
      append_quoted(out, s, true);
    }
  }
  return value{std::move(out)};
}

constexpr std::array text_filters{
    filter_entry{"upper", convert_case<to_upper>},
    filter_entry{"lower", convert_case<to_lower>},
    filter_entry{"capitalize", convert_case<to_capitalized>},
    filter_entry{"title", convert_case<to_filter_title>},
    filter_entry{"trim", trim},
    filter_entry{"replace", replace},
    filter_entry{"string", string},
    filter_entry{"safe", safe},
    filter_entry{"e", escape},
    filter_entry{"escape", escape},
    filter_entry{"forceescape", force_escape},
    filter_entry{"tojson", to_json_filter},
    filter_entry{"indent", indent},
    filter_entry{"center", center},
    filter_entry{"format", format},
    filter_entry{"truncate", truncate},
    filter_entry{"wordcount", wordcount},
    filter_entry{"urlencode", urlencode},
};

}  // namespace

filter_function find_text_filter(std::string_view name) {
  for (const filter_entry& f : text_filters) {
    if (f.name == name) return f.function;
  }
  return nullptr;
}

}  // namespace vouch::engine::jinja
