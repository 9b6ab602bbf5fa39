#pragma once

#include <cstdint>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <variant>
#include <vector>

#include "engine/chat_template/text.hpp"

namespace vouch::engine::jinja {

class context;
class value;
struct sequence;
struct dict;
struct name_space;
struct callable;
struct loop_state;

/// A run-time error without its place; the evaluator adds name and line.
class render_error : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// Why a value is undefined: what using it reports.
struct missing {
  std::string message;
};

using text_ptr = std::shared_ptr<const text>;
using sequence_ptr = std::shared_ptr<const sequence>;
using dict_ptr = std::shared_ptr<const dict>;
using namespace_ptr = std::shared_ptr<name_space>;
using callable_ptr = std::shared_ptr<callable>;
using loop_ptr = std::shared_ptr<loop_state>;

/// A value of the template language. Copies share what they refer to; all but
/// namespaces are immutable.
class value {
 public:
  value() = default;  // undefined, without a message
  explicit value(bool b) : data_(b) {}
  explicit value(std::int64_t i) : data_(i) {}
  explicit value(double d) : data_(d) {}
  explicit value(text t) : data_(std::make_shared<const text>(std::move(t))) {}
  explicit value(text_ptr t) : data_(std::move(t)) {}
  explicit value(sequence_ptr s) : data_(std::move(s)) {}
  explicit value(dict_ptr d) : data_(std::move(d)) {}
  explicit value(namespace_ptr n) : data_(std::move(n)) {}
  explicit value(callable_ptr c) : data_(std::move(c)) {}
  explicit value(loop_ptr l) : data_(std::move(l)) {}
  static value none() { return value{storage{std::monostate{}}}; }
  static value undefined(std::string message);
  static value size(std::size_t n) { return value{std::int64_t(n)}; }

  bool is_undefined() const { return holds<missing_ptr>(); }
  bool is_none() const { return holds<std::monostate>(); }
  bool is_bool() const { return holds<bool>(); }
  bool is_int() const { return holds<std::int64_t>(); }
  bool is_float() const { return holds<double>(); }
  bool is_number() const { return is_bool() || is_int() || is_float(); }
  bool is_string() const { return holds<text_ptr>(); }
  bool is_sequence() const { return holds<sequence_ptr>(); }
  bool is_dict() const { return holds<dict_ptr>(); }
  bool is_namespace() const { return holds<namespace_ptr>(); }
  bool is_callable() const { return holds<callable_ptr>(); }
  bool is_loop() const { return holds<loop_ptr>(); }

  bool as_bool() const { return std::get<bool>(data_); }
  /// An int or a bool.
  bool is_integral() const { return is_int() || is_bool(); }
  std::int64_t as_int() const {
    return is_bool() ? std::int64_t{as_bool()} : std::get<std::int64_t>(data_);
  }
  /// Any number.
  double as_double() const {
    return is_float() ? std::get<double>(data_) : double(as_int());
  }
  const text& as_text() const { return *std::get<text_ptr>(data_); }
  const std::string& bytes() const { return as_text().bytes(); }
  const sequence& as_sequence() const { return *std::get<sequence_ptr>(data_); }
  const dict& as_dict() const { return *std::get<dict_ptr>(data_); }
  name_space& as_namespace() const { return *std::get<namespace_ptr>(data_); }
  callable& as_callable() const { return *std::get<callable_ptr>(data_); }
  const loop_state& as_loop() const { return *std::get<loop_ptr>(data_); }

  /// What using an undefined value reports.
  std::string undefined_message() const;

  /// A number, boolean or none that came from the request; strings and
  /// containers carry their origin themselves.
  bool tainted = false;
  value with_taint(bool t) const {
    value v = *this;
    v.tainted = t;
    return v;
  }

  /// How many containers are nested in it.
  int depth() const;
  /// Python's truth.
  bool truthy() const;
  /// Python's type name: "str", "int", "NoneType", ...
  std::string type_name() const;
  /// The same object, or an equal number, boolean or none.
  bool same_as(const value& other) const;

 private:
  using missing_ptr = std::shared_ptr<const missing>;
  using storage = std::variant<missing_ptr, std::monostate, bool, std::int64_t,
                               double, text_ptr, sequence_ptr, dict_ptr,
                               namespace_ptr, callable_ptr, loop_ptr>;
  explicit value(storage s) : data_(std::move(s)) {}
  template <class T>
  bool holds() const {
    return std::holds_alternative<T>(data_);
  }
  storage data_;
};

/// Containers may nest this deep; deeper ones are an error, so that walking
/// them is safe.
constexpr int max_depth = 200;

enum class sequence_type { list, tuple, range, generator, keys, values, items };

struct sequence {
  sequence_type type = sequence_type::list;
  std::vector<value> items;
  /// Came from the request as a whole.
  bool tainted = false;
  int depth = 1;
  /// A generator that was iterated is empty the second time.
  mutable bool consumed = false;
};

/// Insertion-ordered, keys by Python's equality (1, 1.0 and true are one).
struct dict {
  std::vector<std::pair<value, value>> entries;
  bool tainted = false;
  int depth = 1;

  const value* find(std::string_view key) const;
  /// Throws render_error for an unhashable key.
  const value* find(const value& key) const;
  void set(value key, value item);

 private:
  /// entries.size() when it is not there.
  std::size_t position(std::string_view key) const;
  std::size_t position(const value& key) const;
  std::unordered_map<std::string, std::size_t> index_;
};

/// namespace(...): the only thing a template can change.
struct name_space {
  dict attributes;
};

struct arguments {
  std::vector<value> positional;
  std::vector<std::pair<std::string, value>> keywords;
};

/// A macro, a bound method or a global function.
struct callable {
  virtual ~callable() = default;
  virtual value call(context& ctx, const arguments& args) = 0;
  virtual std::string describe() const = 0;
  /// How deep the value it is bound to nests.
  virtual int depth() const { return 0; }
  /// A macro's `name`; undefined for others.
  virtual value name() const { return {}; }
};

struct loop_state {
  std::vector<value> items;
  std::size_t index = 0;
  /// Loops around it, counting itself, in a recursive loop.
  int depth = 1;
  /// How deep its items nest.
  int item_depth = 0;
  /// Renders the same loop over its argument, in a recursive loop.
  callable_ptr recurse;
  /// What `loop.changed` saw last.
  mutable std::vector<value> last_changed;
  mutable bool has_changed = false;
};

value make_string(std::string_view bytes, bool trusted);
/// Throws render_error when nesting exceeds max_depth.
value make_sequence(sequence_type type, std::vector<value> items,
                    bool tainted = false);
inline value make_list(std::vector<value> items) {
  return make_sequence(sequence_type::list, std::move(items));
}
inline value make_tuple(std::vector<value> items) {
  return make_sequence(sequence_type::tuple, std::move(items));
}
value make_dict(dict d);

}  // namespace vouch::engine::jinja
