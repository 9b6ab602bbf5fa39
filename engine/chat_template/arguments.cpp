#include <algorithm>

#include "engine/chat_template/methods.hpp"
#include "engine/chat_template/operators.hpp"

namespace vouch::engine::jinja {

std::vector<std::optional<value>> bind(
    std::string_view function, const arguments& args,
    std::initializer_list<std::string_view> names, std::size_t required) {
  const std::string called = std::string{function} + "()";
  std::vector<std::optional<value>> bound(names.size());
  if (args.positional.size() > names.size()) {
    throw render_error(called + " takes at most " +
                       std::to_string(names.size()) + " arguments (" +
                       std::to_string(args.positional.size()) + " given)");
  }
  std::copy(args.positional.begin(), args.positional.end(), bound.begin());
  for (const auto& [name, item] : args.keywords) {
    const auto it = std::find(names.begin(), names.end(), name);
    if (it == names.end()) {
      throw render_error(called + " got an unexpected keyword argument '" +
                         name + "'");
    }
    auto& slot = bound[static_cast<std::size_t>(it - names.begin())];
    if (slot) {
      throw render_error(called + " got multiple values for argument '" + name +
                         "'");
    }
    slot = item;
  }
  for (std::size_t i = 0; i < required; ++i) {
    if (!bound[i]) {
      throw render_error(called + " missing required argument: '" +
                         std::string{names.begin()[i]} + "'");
    }
  }
  return bound;
}

std::int64_t to_integer(const value& v, std::string_view what) {
  require_defined(v);
  if (!v.is_integral()) {
    throw render_error(std::string{what} + ": '" + v.type_name() +
                       "' object cannot be interpreted as an integer");
  }
  return v.as_int();
}

const text& to_string_argument(const value& v, std::string_view what) {
  require_defined(v);
  if (!v.is_string()) {
    throw render_error(std::string{what} + " must be str, not " +
                       v.type_name());
  }
  return v.as_text();
}

}  // namespace vouch::engine::jinja
