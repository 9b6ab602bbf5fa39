#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdio>

#include "engine/chat_template/context.hpp"
#include "engine/chat_template/methods.hpp"
#include "engine/chat_template/operators.hpp"
#include "engine/chat_template/repr.hpp"
#include "engine/chat_template/unicode.hpp"

// The two formatting languages of Python's str, the parts templates use:
// %-conversions s r d i u f F e E g G x X o c %, and {} fields with an
// optional !s or !r and a [[fill]align][sign][0][width][,][.precision][type]
// specification.
namespace vouch::engine::jinja {
namespace {

struct specification {
  std::string fill = " ";
  /// Written by the template; else nothing made by it is trusted.
  bool trusted = true;
  char align = 0;
  char sign = '-';
  bool alternate = false;
  bool comma = false;
  std::size_t width = 0;
  int precision = -1;
  char type = 0;
};

constexpr std::size_t largest_width = 100'000;

bool is_digit(char c) { return c >= '0' && c <= '9'; }

std::size_t parse_number(std::string_view s, std::size_t& i) {
  std::size_t n = 0;
  for (; i < s.size() && is_digit(s[i]); ++i) {
    n = n * 10 + static_cast<std::size_t>(s[i] - '0');
    if (n > largest_width) {
      throw render_error("a format's width or precision is too large");
    }
  }
  return n;
}

specification parse_specification(std::string_view s) {
  const auto is_align = [](char c) {
    return c == '<' || c == '>' || c == '^' || c == '=';
  };
  specification spec;
  std::size_t i = 0;
  std::size_t after_fill = 0;
  if (!s.empty()) next_code_point(s, after_fill);
  if (after_fill < s.size() && is_align(s[after_fill])) {
    spec.fill = s.substr(0, after_fill);
    spec.align = s[after_fill];
    i = after_fill + 1;
  } else if (!s.empty() && is_align(s[0])) {
    spec.align = s[0];
    i = 1;
  }
  if (i < s.size() && (s[i] == '+' || s[i] == '-' || s[i] == ' ')) {
    spec.sign = s[i++];
  }
  if (i < s.size() && s[i] == '#') {
    spec.alternate = true;
    ++i;
  }
  if (i < s.size() && s[i] == '0') {
    if (spec.align == 0) {
      spec.fill.assign(1, '0');
      spec.align = '=';
    }
    ++i;
  }
  spec.width = parse_number(s, i);
  if (i < s.size() && s[i] == ',') {
    spec.comma = true;
    ++i;
  }
  if (i < s.size() && s[i] == '.') {
    ++i;
    if (i >= s.size() || !is_digit(s[i])) {
      throw render_error("Format specifier missing precision");
    }
    spec.precision = static_cast<int>(parse_number(s, i));
  }
  if (i < s.size()) spec.type = s[i++];
  if (i != s.size()) throw render_error("Invalid format specifier");
  return spec;
}

std::string format_double(double d, char type, int precision) {
  if (std::isnan(d)) return "nan";
  if (std::isinf(d)) return d < 0 ? "-inf" : "inf";
  const char pattern[] = {'%', '.', '*', type, 0};
  std::string out(512 + static_cast<std::size_t>(precision), '\0');
  const int n = std::snprintf(out.data(), out.size(), pattern, precision, d);
  out.resize(static_cast<std::size_t>(n));
  return out;
}

std::string format_integer(std::int64_t i, char type, bool alternate) {
  const bool negative = i < 0;
  const std::uint64_t magnitude = negative ? 0 - static_cast<std::uint64_t>(i)
                                           : static_cast<std::uint64_t>(i);
  const int base = type == 'x' || type == 'X' ? 16
                   : type == 'o'              ? 8
                   : type == 'b'              ? 2
                                              : 10;
  char buffer[72];
  const auto end =
      std::to_chars(buffer, buffer + sizeof buffer, magnitude, base);
  std::string digits(buffer, end.ptr);
  if (type == 'X') {
    for (char& c : digits) c = c >= 'a' ? static_cast<char>(c - 32) : c;
  }
  std::string out = negative ? "-" : "";
  if (alternate && base != 10) out += std::string{"0"} + type;
  return out + digits;
}

void group_thousands(std::string& number) {
  std::size_t first = !number.empty() && number[0] == '-' ? 1 : 0;
  std::size_t end = number.find_first_of(".e");
  if (end == std::string::npos) end = number.size();
  for (std::size_t i = end; i > first + 3;) {
    i -= 3;
    number.insert(i, 1, ',');
  }
}

std::string format_number(const value& v, const specification& spec) {
  const char type = spec.type;
  const bool as_float = v.is_float() || type == 'f' || type == 'F' ||
                        type == 'e' || type == 'E' || type == 'g' ||
                        type == 'G' || type == '%';
  std::string out;
  if (as_float) {
    const double d = v.as_double();
    const int precision = spec.precision < 0 ? 6 : spec.precision;
    if (type == '%') {
      out = format_double(d * 100, 'f', precision) + '%';
    } else if (type != 0) {
      out = format_double(d, type, precision);
    } else {
      out =
          spec.precision < 0 ? float_repr(d) : format_double(d, 'g', precision);
    }
  } else {
    out = format_integer(v.as_int(), type, spec.alternate);
  }
  if (spec.comma) group_thousands(out);
  if (spec.sign != '-' && !out.empty() && out[0] != '-') {
    out.insert(0, 1, spec.sign);
  }
  return out;
}

text padded(context& ctx, const text& body, const specification& spec,
            char default_align) {
  const std::size_t size = code_point_count(body.bytes());
  if (size >= spec.width) return body;
  const std::size_t room = spec.width - size;
  ctx.charge_bytes(room * spec.fill.size() + body.size());
  char align = spec.align == 0 ? default_align : spec.align;
  std::size_t sign = 0;
  if (align == '=') {
    sign = !body.empty() && (body.bytes()[0] == '-' || body.bytes()[0] == '+');
    align = '>';
  }
  const std::size_t left = align == '>' ? room : align == '^' ? room / 2 : 0;
  text out = body.slice(0, sign);
  for (std::size_t i = 0; i < left; ++i) out.append(spec.fill, spec.trusted);
  out.append(body.slice(sign, body.size()));
  for (std::size_t i = left; i < room; ++i) out.append(spec.fill, spec.trusted);
  return out;
}

text format_value(context& ctx, const value& v, const specification& spec) {
  if (v.is_number() && !(v.is_bool() && spec.type == 0)) {
    return padded(ctx, text{format_number(v, spec), spec.trusted && !v.tainted},
                  spec, '>');
  }
  if (spec.type != 0 && spec.type != 's') {
    throw render_error(std::string{"Unknown format code '"} + spec.type +
                       "' for object of type '" + v.type_name() + "'");
  }
  text body = to_text(ctx, v);
  if (spec.precision >= 0) {
    body = body.slice(
        0, byte_offset(body.bytes(), static_cast<std::size_t>(spec.precision)));
  }
  return padded(ctx, body, spec, '<');
}

/// The arguments of a % formatting, in turn or by name.
class percent_arguments {
 public:
  explicit percent_arguments(const value& v) : v_(v) {
    if (v.is_sequence() && v.as_sequence().type == sequence_type::tuple) {
      items_ = v.as_sequence().items;
    } else {
      items_ = {v};
    }
  }
  value next() {
    if (at_ >= items_.size()) {
      throw render_error("not enough arguments for format string");
    }
    return items_[at_++];
  }
  value named(std::string_view name) {
    if (!v_.is_dict()) throw render_error("format requires a mapping");
    at_ = items_.size();
    if (const value* item = v_.as_dict().find(name)) return *item;
    throw render_error("'" + std::string{name} + "'");
  }
  void finish() const {
    // As in Python, what can be subscripted may be left over, except a string
    // or a tuple.
    const bool tuple =
        v_.is_sequence() && v_.as_sequence().type == sequence_type::tuple;
    const bool may_be_left =
        v_.is_dict() || v_.is_undefined() || (v_.is_sequence() && !tuple);
    if (at_ < items_.size() && !may_be_left) {
      throw render_error(
          "not all arguments converted during string formatting");
    }
  }

 private:
  const value& v_;
  std::vector<value> items_;
  std::size_t at_ = 0;
};

text percent_value(context& ctx, const value& v, specification spec) {
  const char type = spec.type;
  if (type == 's' || type == 'r' || type == 'a') {
    const text body = type == 's' ? to_text(ctx, v) : repr(ctx, v);
    spec.type = 's';
    return format_value(ctx, value{body}, spec);
  }
  if (type == 'c' && v.is_string()) return v.as_text();
  if (type == 'c' && v.is_integral()) {
    std::string c;
    append_code_point(c, static_cast<char32_t>(v.as_int() & 0x1FFFFF));
    return text{c, spec.trusted && !v.tainted};
  }
  require_defined(v);
  if (!v.is_number()) {
    const bool integer_type = type == 'x' || type == 'X' || type == 'o';
    throw render_error(std::string{"%"} + type + " format: " +
                       (integer_type ? "an integer is required, not "
                                     : "a real number is required, not ") +
                       v.type_name());
  }
  if (type == 'd' || type == 'i' || type == 'u') {
    const value whole = v.is_float()
                            ? value{static_cast<std::int64_t>(
                                  std::clamp(v.as_double(), -9e18, 9e18))}
                            : value{v.as_int()};
    spec.type = 'd';
    return format_value(ctx, whole.with_taint(v.tainted), spec);
  }
  return format_value(ctx, v, spec);
}

}  // namespace

text format_percent(context& ctx, const text& format, const value& v) {
  percent_arguments arguments{v};
  const std::string_view bytes = format.bytes();
  ctx.charge_bytes(bytes.size());
  text out;
  std::size_t start = 0;
  while (true) {
    std::size_t i = find_bytes(bytes, "%", start);
    if (i == std::string_view::npos) break;
    ctx.charge();
    out.append(format.slice(start, i));
    ++i;
    std::optional<value> named;
    if (i < bytes.size() && bytes[i] == '(') {
      const std::size_t close = find_bytes(bytes, ")", i);
      if (close == std::string_view::npos) {
        throw render_error("incomplete format key");
      }
      named = arguments.named(bytes.substr(i + 1, close - i - 1));
      i = close + 1;
    }
    specification spec;
    spec.trusted = format.trusted();
    spec.align = '>';
    for (; i < bytes.size(); ++i) {
      if (bytes[i] == '-') {
        spec.align = '<';
        spec.fill.assign(1, ' ');
      } else if (bytes[i] == '+' || bytes[i] == ' ') {
        spec.sign = bytes[i];
      } else if (bytes[i] == '0' && spec.align != '<') {
        spec.fill.assign(1, '0');
        spec.align = '=';
      } else if (bytes[i] == '#') {
        spec.alternate = true;
      } else {
        break;
      }
    }
    spec.width = parse_number(bytes, i);
    if (i < bytes.size() && bytes[i] == '.') {
      ++i;
      spec.precision = static_cast<int>(parse_number(bytes, i));
    }
    if (i >= bytes.size()) throw render_error("incomplete format");
    spec.type = bytes[i++];
    start = i;
    if (spec.type == '%') {
      out.append(format.slice(i - 1, i));
      continue;
    }
    if (std::string_view{"srdiufFeEgGxXoca"}.find(spec.type) ==
        std::string_view::npos) {
      throw render_error(std::string{"unsupported format character '"} +
                         spec.type + "'");
    }
    out.append(percent_value(ctx, named ? *named : arguments.next(), spec));
    ctx.check_bytes(out.size());
  }
  arguments.finish();
  out.append(format.slice(start, bytes.size()));
  return out;
}

text format_braces(context& ctx, const text& format, const arguments& args) {
  const std::string_view bytes = format.bytes();
  ctx.charge_bytes(bytes.size());
  text out;
  std::size_t next_argument = 0;
  for (std::size_t i = 0; i < bytes.size();) {
    const std::size_t brace = bytes.find_first_of("{}", i);
    if (brace == std::string_view::npos) {
      out.append(format.slice(i, bytes.size()));
      break;
    }
    ctx.charge();
    out.append(format.slice(i, brace));
    if (brace + 1 < bytes.size() && bytes[brace + 1] == bytes[brace]) {
      out.append(format.slice(brace, brace + 1));
      i = brace + 2;
      continue;
    }
    if (bytes[brace] == '}') {
      throw render_error("Single '}' encountered in format string");
    }
    const std::size_t close = find_bytes(bytes, "}", brace);
    if (close == std::string_view::npos) {
      throw render_error("expected '}' before end of string");
    }
    std::string_view field = bytes.substr(brace + 1, close - brace - 1);
    i = close + 1;
    specification spec;
    const std::size_t colon = field.find(':');
    if (colon != std::string_view::npos) {
      spec = parse_specification(field.substr(colon + 1));
      field = field.substr(0, colon);
    }
    spec.trusted = format.trusted();
    bool as_repr = false;
    if (field.size() >= 2 && field[field.size() - 2] == '!') {
      as_repr = field.back() == 'r';
      field = field.substr(0, field.size() - 2);
    }
    const std::size_t path = std::min(field.find_first_of(".["), field.size());
    const std::string_view head = field.substr(0, path);
    value v;
    if (head.empty() || is_digit(head[0])) {
      std::size_t at = 0;
      const std::size_t index =
          head.empty() ? next_argument++ : parse_number(head, at);
      if (index >= args.positional.size()) {
        throw render_error("Replacement index " + std::to_string(index) +
                           " out of range for positional args tuple");
      }
      v = args.positional[index];
    } else {
      const auto it =
          std::find_if(args.keywords.begin(), args.keywords.end(),
                       [&](const auto& k) { return k.first == head; });
      if (it == args.keywords.end()) {
        throw render_error("'" + std::string{head} + "'");
      }
      v = it->second;
    }
    for (std::size_t at = path; at < field.size();) {
      if (field[at] == '.') {
        const std::size_t end =
            std::min(field.find_first_of(".[", at + 1), field.size());
        v = get_attribute(ctx, v, field.substr(at + 1, end - at - 1));
        at = end;
      } else {
        const std::size_t end = field.find(']', at);
        if (end == std::string_view::npos) {
          throw render_error("Missing ']' in format string");
        }
        const std::string_view key = field.substr(at + 1, end - at - 1);
        std::size_t digits = 0;
        const bool number =
            !key.empty() && std::all_of(key.begin(), key.end(), is_digit);
        v = get_item(ctx, v,
                     number ? value::size(parse_number(key, digits))
                            : make_string(key, true));
        at = end + 1;
      }
    }
    out.append(format_value(ctx, as_repr ? value{repr(ctx, v)} : v, spec));
    ctx.check_bytes(out.size());
  }
  return out;
}

}  // namespace vouch::engine::jinja
