#include "engine/chat_template/value.hpp"

#include <algorithm>
#include <cmath>

#include "engine/chat_template/repr.hpp"

namespace vouch::engine::jinja {
namespace {

int checked_depth(int deepest_child) {
  if (deepest_child + 1 > max_depth) {
    throw render_error("values are nested too deeply (more than " +
                       std::to_string(max_depth) + " levels)");
  }
  return deepest_child + 1;
}

std::string encoded(std::string_view key) {
  std::string out(1, 's');
  out.append(std::to_string(key.size())).append(1, ':').append(key);
  return out;
}

/// A string that is equal for keys that Python takes for equal.
void encode_key(std::string& out, const value& key) {
  if (key.is_string()) {
    out += encoded(key.bytes());
  } else if (key.is_integral()) {
    out += 'i' + std::to_string(key.as_int());
  } else if (key.is_float()) {
    const double d = key.as_double();
    if (d == std::floor(d) && std::abs(d) < 9e15) {
      out += 'i' + std::to_string(static_cast<std::int64_t>(d));
    } else {
      out += 'f' + float_repr(d);
    }
  } else if (key.is_none()) {
    out += 'n';
  } else if (key.is_undefined()) {
    out += 'u';
  } else if (key.is_sequence() &&
             key.as_sequence().type == sequence_type::tuple) {
    out += '(';
    for (const value& item : key.as_sequence().items) {
      if (out.size() > 65536) throw render_error("dictionary key is too long");
      encode_key(out, item);
    }
    out += ')';
  } else {
    throw render_error("unhashable type: '" + key.type_name() + "'");
  }
}

constexpr std::size_t indexed_from = 12;

}  // namespace

value value::undefined(std::string message) {
  return value{
      storage{std::make_shared<const missing>(missing{std::move(message)})}};
}

std::string value::undefined_message() const {
  const missing_ptr& m = std::get<missing_ptr>(data_);
  return m ? m->message : "value is undefined";
}

int value::depth() const {
  if (is_sequence()) return as_sequence().depth;
  if (is_dict()) return as_dict().depth;
  if (is_loop()) return as_loop().item_depth + 1;
  if (is_callable()) return as_callable().depth();
  return 0;
}

bool value::truthy() const {
  if (is_undefined() || is_none()) return false;
  if (is_bool()) return as_bool();
  if (is_int()) return as_int() != 0;
  if (is_float()) return as_double() != 0;
  if (is_string()) return !as_text().empty();
  if (is_sequence()) {
    return as_sequence().type == sequence_type::generator ||
           !as_sequence().items.empty();
  }
  if (is_dict()) return !as_dict().entries.empty();
  return true;
}

std::string value::type_name() const {
  if (is_undefined()) return "Undefined";
  if (is_none()) return "NoneType";
  if (is_bool()) return "bool";
  if (is_int()) return "int";
  if (is_float()) return "float";
  if (is_string()) return as_text().markup ? "Markup" : "str";
  if (is_dict()) return "dict";
  if (is_namespace()) return "TemplateNamespace";
  if (is_loop()) return "LoopContext";
  if (is_callable()) return "function";
  switch (as_sequence().type) {
    case sequence_type::list:
      return "list";
    case sequence_type::tuple:
      return "tuple";
    case sequence_type::range:
      return "range";
    case sequence_type::generator:
      return "generator";
    case sequence_type::keys:
      return "dict_keys";
    case sequence_type::values:
      return "dict_values";
    case sequence_type::items:
      return "dict_items";
  }
  return "object";
}

bool value::same_as(const value& other) const {
  if (data_.index() != other.data_.index()) return false;
  if (is_string()) return bytes() == other.bytes();
  return data_ == other.data_;
}

std::size_t dict::position(std::string_view key) const {
  if (entries.size() < indexed_from) {
    for (std::size_t i = 0; i < entries.size(); ++i) {
      const value& name = entries[i].first;
      if (name.is_string() && name.bytes() == key) return i;
    }
    return entries.size();
  }
  const auto it = index_.find(encoded(key));
  return it == index_.end() ? entries.size() : it->second;
}

std::size_t dict::position(const value& key) const {
  if (key.is_string()) return position(std::string_view{key.bytes()});
  std::string wanted;
  encode_key(wanted, key);
  if (entries.size() >= indexed_from) {
    const auto it = index_.find(wanted);
    return it == index_.end() ? entries.size() : it->second;
  }
  std::size_t at = 0;
  for (; at < entries.size(); ++at) {
    std::string candidate;
    encode_key(candidate, entries[at].first);
    if (candidate == wanted) break;
  }
  return at;
}

const value* dict::find(std::string_view key) const {
  const std::size_t at = position(key);
  return at < entries.size() ? &entries[at].second : nullptr;
}

const value* dict::find(const value& key) const {
  const std::size_t at = position(key);
  return at < entries.size() ? &entries[at].second : nullptr;
}

void dict::set(value key, value item) {
  depth = std::max(depth, checked_depth(std::max(key.depth(), item.depth())));
  const std::size_t at = position(key);
  if (at < entries.size()) {
    entries[at].second = std::move(item);
    return;
  }
  entries.emplace_back(std::move(key), std::move(item));
  if (entries.size() < indexed_from) return;
  const std::size_t first =
      entries.size() == indexed_from ? 0 : entries.size() - 1;
  for (std::size_t i = first; i < entries.size(); ++i) {
    std::string name;
    encode_key(name, entries[i].first);
    index_.emplace(std::move(name), i);
  }
}

value make_string(std::string_view bytes, bool trusted) {
  return value{text{bytes, trusted}};
}

value make_sequence(sequence_type type, std::vector<value> items,
                    bool tainted) {
  int deepest = 0;
  for (const value& item : items) deepest = std::max(deepest, item.depth());
  auto result = std::make_shared<sequence>();
  result->type = type;
  result->items = std::move(items);
  result->tainted = tainted;
  result->depth = checked_depth(deepest);
  return value{sequence_ptr{std::move(result)}};
}

value make_dict(dict d) {
  return value{dict_ptr{std::make_shared<const dict>(std::move(d))}};
}

}  // namespace vouch::engine::jinja
