#include "engine/chat_template/repr.hpp"

#include <charconv>
#include <cmath>
#include <cstdio>
#include <cstdlib>

#include "engine/chat_template/context.hpp"
#include "engine/chat_template/unicode.hpp"

namespace vouch::engine::jinja {
namespace {

class writer {
 public:
  explicit writer(context& ctx) : ctx_(ctx) {}
  text take() && { return text{out_, !tainted_}; }

  void write(const value& v) {
    ctx_.charge();
    const context::nesting guard{ctx_};
    if (v.is_string()) {
      tainted_ = tainted_ || !v.as_text().trusted();
      if (v.as_text().markup) {
        out_ += "Markup(" + string_repr(v.bytes()) + ')';
      } else {
        out_ += string_repr(v.bytes());
      }
    } else if (v.is_sequence()) {
      write_sequence(v.as_sequence());
    } else if (v.is_dict()) {
      write_dict(v.as_dict());
    } else if (v.is_namespace()) {
      out_ += "<Namespace ";
      write_dict(v.as_namespace().attributes);
      out_ += '>';
    } else {
      write_scalar(v);
    }
    ctx_.check_bytes(out_.size());
  }

 private:
  void write_scalar(const value& v) {
    tainted_ = tainted_ || v.tainted;
    if (v.is_undefined()) {
      out_ += "Undefined";
    } else if (v.is_none()) {
      out_ += "None";
    } else if (v.is_bool()) {
      out_ += v.as_bool() ? "True" : "False";
    } else if (v.is_int()) {
      out_ += std::to_string(v.as_int());
    } else if (v.is_float()) {
      out_ += float_repr(v.as_double());
    } else if (v.is_callable()) {
      out_ += v.as_callable().describe();
    } else if (v.is_loop()) {
      out_ += "<LoopContext " + std::to_string(v.as_loop().index + 1) + '/' +
              std::to_string(v.as_loop().items.size()) + '>';
    }
  }

  void write_items(const sequence& s, char open, char close) {
    out_ += open;
    for (std::size_t i = 0; i < s.items.size(); ++i) {
      if (i > 0) out_ += ", ";
      write(s.items[i]);
    }
    if (s.type == sequence_type::tuple && s.items.size() == 1) out_ += ',';
    out_ += close;
  }

  void write_sequence(const sequence& s) {
    tainted_ = tainted_ || s.tainted;
    switch (s.type) {
      case sequence_type::list:
        return write_items(s, '[', ']');
      case sequence_type::tuple:
        return write_items(s, '(', ')');
      case sequence_type::range:
        return write_range(s);
      case sequence_type::generator:
        out_ += "<generator object>";
        return;
      case sequence_type::keys:
        out_ += "dict_keys(";
        break;
      case sequence_type::values:
        out_ += "dict_values(";
        break;
      case sequence_type::items:
        out_ += "dict_items(";
        break;
    }
    write_items(s, '[', ']');
    out_ += ')';
  }

  void write_range(const sequence& s) {
    std::int64_t first = 0;
    std::int64_t step = 1;
    if (!s.items.empty()) first = s.items[0].as_int();
    if (s.items.size() > 1) step = s.items[1].as_int() - first;
    const std::int64_t stop =
        first + step * static_cast<std::int64_t>(s.items.size());
    out_ += "range(" + std::to_string(first) + ", " + std::to_string(stop);
    if (step != 1) out_ += ", " + std::to_string(step);
    out_ += ')';
  }

  void write_dict(const dict& d) {
    tainted_ = tainted_ || d.tainted;
    out_ += '{';
    bool first = true;
    for (const auto& [key, item] : d.entries) {
      if (!first) out_ += ", ";
      first = false;
      write(key);
      out_ += ": ";
      write(item);
    }
    out_ += '}';
  }

  context& ctx_;
  std::string out_;
  bool tainted_ = false;
};

}  // namespace

std::string float_repr(double d) {
  if (std::isnan(d)) return "nan";
  if (std::isinf(d)) return d < 0 ? "-inf" : "inf";
  char buffer[64];
  const auto end = std::to_chars(buffer, buffer + sizeof buffer, d,
                                 std::chars_format::scientific);
  const std::string_view all{buffer,
                             static_cast<std::size_t>(end.ptr - buffer)};
  const std::size_t e = all.find('e');
  const int exponent = std::atoi(std::string{all.substr(e + 1)}.c_str());
  std::string digits;
  for (const char c : all.substr(0, e)) {
    if (c != '.' && c != '-') digits += c;
  }
  std::string out = std::signbit(d) ? "-" : "";
  if (exponent < -4 || exponent >= 16) {
    out += digits[0];
    if (digits.size() > 1) out += '.' + digits.substr(1);
    char tail[16];
    std::snprintf(tail, sizeof tail, "e%c%02d", exponent < 0 ? '-' : '+',
                  std::abs(exponent));
    return out + tail;
  }
  if (exponent < 0) {
    return out + "0." +
           std::string(static_cast<std::size_t>(-exponent - 1), '0') + digits;
  }
  const auto whole = static_cast<std::size_t>(exponent) + 1;
  if (digits.size() <= whole) {
    return out + digits + std::string(whole - digits.size(), '0') + ".0";
  }
  return out + digits.substr(0, whole) + '.' + digits.substr(whole);
}

std::string string_repr(std::string_view bytes) {
  const bool has_single = bytes.find('\'') != std::string_view::npos;
  const bool has_double = bytes.find('"') != std::string_view::npos;
  const char quote = has_single && !has_double ? '"' : '\'';
  std::string out(1, quote);
  for (std::size_t i = 0; i < bytes.size();) {
    const std::size_t start = i;
    const char32_t c = next_code_point(bytes, i);
    char escape[16] = {};
    if (c == static_cast<unsigned char>(quote) || c == '\\') {
      out += '\\';
      out += static_cast<char>(c);
    } else if (c == '\n') {
      out += "\\n";
    } else if (c == '\r') {
      out += "\\r";
    } else if (c == '\t') {
      out += "\\t";
    } else if (is_printable(c)) {
      out += bytes.substr(start, i - start);
    } else {
      const char* format = c < 0x100     ? "\\x%02x"
                           : c < 0x10000 ? "\\u%04x"
                                         : "\\U%08x";
      std::snprintf(escape, sizeof escape, format, static_cast<unsigned>(c));
      out += escape;
    }
  }
  out += quote;
  return out;
}

text repr(context& ctx, const value& v) {
  writer w{ctx};
  w.write(v);
  return std::move(w).take();
}

text to_text(context& ctx, const value& v) {
  if (v.is_string()) return v.as_text();
  if (v.is_undefined()) return {};
  return repr(ctx, v);
}

std::string short_repr(context& ctx, const value& v) {
  std::string full = repr(ctx, v).bytes();
  if (full.size() > 200) full.resize(byte_offset(full, 200));
  return full;
}

}  // namespace vouch::engine::jinja
