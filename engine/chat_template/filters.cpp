#include "engine/chat_template/filters.hpp"

namespace vouch::engine::jinja {

filter_function find_filter(std::string_view name) {
  if (const filter_function f = find_text_filter(name)) return f;
  return find_sequence_filter(name);
}

}  // namespace vouch::engine::jinja
