#pragma once

#include "engine/chat_template/value.hpp"

// Jinja's filters, tests and globals, by name.
namespace vouch::engine::jinja {

using filter_function = value (*)(context&, const value& subject,
                                  const arguments&);
using test_function = bool (*)(context&, const value& subject,
                               const arguments&);

struct filter_entry {
  std::string_view name;
  filter_function function;
};

/// Null when there is none of that name.
filter_function find_filter(std::string_view name);
test_function find_test(std::string_view name);
/// range, dict, namespace, raise_exception, strftime_now; else undefined.
value find_global(std::string_view name);

/// Where find_filter looks: text filters and container filters.
filter_function find_text_filter(std::string_view name);
filter_function find_sequence_filter(std::string_view name);

/// Throws render_error for a name that a namespace may not have.
void check_namespace_name(std::string_view name);

}  // namespace vouch::engine::jinja
