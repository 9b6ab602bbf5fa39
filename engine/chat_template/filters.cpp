#include "engine/chat_template/filters.hpp"

namespace vouch::engine::jinja {

filter_function find_filter(std::string_view name) {
  for (const auto find : {find_text_filter, find_number_filter,
                          find_sequence_filter, find_ordering_filter}) {
    if (const filter_function f = find(name)) return f;
  }
  return nullptr;
}

}  // namespace vouch::engine::jinja
