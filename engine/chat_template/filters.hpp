#pragma once

#include <optional>
#include <utility>
#include <vector>

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

/// Where find_filter looks.
filter_function find_text_filter(std::string_view name);
filter_function find_number_filter(std::string_view name);
filter_function find_sequence_filter(std::string_view name);
filter_function find_ordering_filter(std::string_view name);

/// item.a.b.0 for the attribute "a.b.0" (or an integer).
/// An undefined value on the way becomes `fallback`, if there is one.
value attribute_of(context& ctx, const value& item, const value& path,
                   const std::optional<value>& fallback = std::nullopt);

/// What a filter gives that Python yields from: it can be walked once.
inline value generator(std::vector<value> items) {
  return make_sequence(sequence_type::generator, std::move(items));
}

/// Throws render_error for a name that a namespace may not have.
void check_namespace_name(std::string_view name);

}  // namespace vouch::engine::jinja
