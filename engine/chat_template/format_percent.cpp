#include <algorithm>
#include <optional>

#include "engine/chat_template/context.hpp"
#include "engine/chat_template/format.hpp"
#include "engine/chat_template/methods.hpp"
#include "engine/chat_template/operators.hpp"
#include "engine/chat_template/repr.hpp"
#include "engine/chat_template/unicode.hpp"

// "..." % v: the conversions s r d i u f F e E g G x X o c %.
namespace vouch::engine::jinja {
namespace {

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

}  // namespace vouch::engine::jinja
