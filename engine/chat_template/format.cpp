#include "engine/chat_template/format.hpp"

#include <charconv>
#include <cmath>
#include <cstdio>

#include "engine/chat_template/context.hpp"
#include "engine/chat_template/repr.hpp"
#include "engine/chat_template/unicode.hpp"

namespace vouch::engine::jinja {
namespace {

constexpr std::size_t largest_width = 100'000;

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

}  // namespace

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

}  // namespace vouch::engine::jinja
