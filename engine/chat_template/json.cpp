#include "engine/chat_template/json.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>

#include <simdjson.h>

#include "engine/chat_template/context.hpp"
#include "engine/chat_template/operators.hpp"
#include "engine/chat_template/repr.hpp"
#include "engine/chat_template/unicode.hpp"

namespace vouch::engine::jinja {
namespace {

namespace dom = simdjson::dom;

value convert(dom::element element) {
  switch (element.type()) {
    case dom::element_type::ARRAY: {
      std::vector<value> items;
      const dom::array array = element;
      for (const dom::element item : array) {
        items.push_back(convert(item));
      }
      return make_sequence(sequence_type::list, std::move(items), true);
    }
    case dom::element_type::OBJECT: {
      dict d;
      d.tainted = true;
      const dom::object object = element;
      for (const dom::key_value_pair field : object) {
        d.set(make_string(field.key, false), convert(field.value));
      }
      return make_dict(std::move(d));
    }
    case dom::element_type::STRING:
      return make_string(std::string_view(element), false);
    case dom::element_type::INT64:
      return value{std::int64_t(element)}.with_taint(true);
    case dom::element_type::UINT64:
      throw std::invalid_argument("an integer needs more than 64 bits");
    case dom::element_type::DOUBLE:
      return value{double(element)}.with_taint(true);
    case dom::element_type::BOOL:
      return value{bool(element)}.with_taint(true);
    case dom::element_type::NULL_VALUE:
      return value::none().with_taint(true);
  }
  return value::none();
}

class json_writer {
 public:
  json_writer(context& ctx, const json_options& options)
      : ctx_(ctx), options_(options) {}

  void write(const value& v, std::size_t level) {
    ctx_.charge();
    ctx_.check_bytes(out_.size());
    const context::nesting guard{ctx_};
    if (v.is_string()) {
      write_string(v.as_text());
    } else if (v.is_sequence() && is_array(v.as_sequence().type)) {
      write_array(v.as_sequence(), level);
    } else if (v.is_dict()) {
      write_object(v.as_dict(), level);
    } else {
      out_ += scalar(v);
    }
  }

  text take() {
    ctx_.charge_bytes(out_.size());
    return text{out_, !tainted_ && options_.trusted};
  }

 private:
  static bool is_array(sequence_type type) {
    return type == sequence_type::list || type == sequence_type::tuple;
  }

  std::string scalar(const value& v) {
    tainted_ = tainted_ || v.tainted;
    if (v.is_none()) return "null";
    if (v.is_bool()) return v.as_bool() ? "true" : "false";
    if (v.is_int()) return std::to_string(v.as_int());
    if (v.is_float()) {
      const double d = v.as_double();
      if (std::isnan(d)) return "NaN";
      if (std::isinf(d)) return d < 0 ? "-Infinity" : "Infinity";
      return float_repr(d);
    }
    throw render_error("Object of type " + v.type_name() +
                       " is not JSON serializable");
  }

  void write_escape(unsigned code) {
    char buffer[8];
    std::snprintf(buffer, sizeof buffer, "\\u%04x", code & 0xFFFFU);
    out_ += buffer;
  }

  void write_string(const text& s) {
    tainted_ = tainted_ || !s.trusted();
    const std::string_view bytes = s.bytes();
    ctx_.charge(bytes.size() / 512);
    out_ += '"';
    for (std::size_t i = 0; i < bytes.size();) {
      const std::size_t start = i;
      const char32_t c = next_code_point(bytes, i);
      if (c == '"' || c == '\\') {
        out_ += '\\';
        out_ += static_cast<char>(c);
      } else if (c == '\n') {
        out_ += "\\n";
      } else if (c == '\r') {
        out_ += "\\r";
      } else if (c == '\t') {
        out_ += "\\t";
      } else if (c == '\b') {
        out_ += "\\b";
      } else if (c == '\f') {
        out_ += "\\f";
      } else if (c < 0x20 ||
                 (options_.ensure_ascii && c >= 0x7F && c < 0x10000)) {
        write_escape(c);
      } else if (options_.ensure_ascii && c >= 0x10000) {
        write_escape(0xD800U + ((c - 0x10000U) >> 10U));
        write_escape(0xDC00U + ((c - 0x10000U) & 0x3FFU));
      } else {
        out_ += bytes.substr(start, i - start);
      }
    }
    out_ += '"';
  }

  void new_line(std::size_t level) {
    if (options_.indent < 0) return;
    ctx_.charge(1 + level / 8);
    out_ += '\n';
    for (std::size_t i = 0; i < level; ++i) out_ += options_.indent_text;
    ctx_.check_bytes(out_.size());
  }

  void write_array(const sequence& s, std::size_t level) {
    tainted_ = tainted_ || s.tainted;
    out_ += '[';
    bool first = true;
    for (const value& item : s.items) {
      if (!first) out_ += options_.item_separator;
      first = false;
      new_line(level + 1);
      write(item, level + 1);
    }
    if (!first) new_line(level);
    out_ += ']';
  }

  void write_object(const dict& d, std::size_t level) {
    tainted_ = tainted_ || d.tainted;
    std::vector<const std::pair<value, value>*> entries;
    for (const auto& entry : d.entries) entries.push_back(&entry);
    if (options_.sort_keys) {
      std::stable_sort(entries.begin(), entries.end(),
                       [&](const auto* a, const auto* b) {
                         return less(ctx_, a->first, b->first);
                       });
    }
    out_ += '{';
    bool first = true;
    for (const auto* entry : entries) {
      if (!first) out_ += options_.item_separator;
      first = false;
      new_line(level + 1);
      write_key(entry->first);
      out_ += options_.key_separator;
      write(entry->second, level + 1);
    }
    if (!first) new_line(level);
    out_ += '}';
  }

  void write_key(const value& key) {
    if (key.is_string()) {
      write_string(key.as_text());
    } else if (key.is_none() || key.is_number()) {
      out_ += '"' + scalar(key) + '"';
    } else {
      throw render_error("keys must be str, int, float, bool or None, not " +
                         key.type_name());
    }
  }

  context& ctx_;
  const json_options& options_;
  std::string out_;
  bool tainted_ = false;
};

}  // namespace

value parse_json(std::string_view json, const std::string& what) {
  dom::parser parser;
  simdjson::error_code error =
      parser.allocate(std::max<std::size_t>(json.size(), 64), max_depth);
  if (!error) {
    const simdjson::padded_string padded{json};
    dom::element root;
    error = parser.parse(padded).get(root);
    if (!error) {
      try {
        return convert(root);
      } catch (const std::exception& e) {
        throw std::invalid_argument(what + ": " + e.what());
      }
    }
  }
  throw std::invalid_argument(
      what + ": malformed JSON: " + simdjson::error_message(error));
}

text to_json(context& ctx, const value& v, const json_options& options) {
  json_writer writer{ctx, options};
  writer.write(v, 0);
  return writer.take();
}

}  // namespace vouch::engine::jinja
