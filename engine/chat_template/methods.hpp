#pragma once

#include <optional>

#include "engine/chat_template/unicode.hpp"
#include "engine/chat_template/value.hpp"

// What stands behind a dot: the methods of Python's str, dict, list and tuple
// that the immutable sandbox allows, and the attributes of `loop`.
namespace vouch::engine::jinja {

/// The bound method or attribute `name` of v; undefined when v has none.
value find_attribute(context& ctx, const value& v, std::string_view name);

/// Attributes that the sandbox hides: underscored ones and methods that change
/// their object.
bool is_forbidden(const value& v, std::string_view name);
/// The undefined value that reports such an access when it is used.
value forbidden(const value& v, std::string_view name);

/// "..." % v and "...".format(...).
text format_percent(context& ctx, const text& format, const value& v);
text format_braces(context& ctx, const text& format, const arguments& args);

using method_function = value (*)(context&, const value& self,
                                  const arguments&);
struct method {
  std::string_view name;
  method_function function;
};
/// The methods of str, by name; null when there is none.
method_function find_string_method(std::string_view name);
/// Where it looks beside its own: what takes a string apart.
method_function find_splitting_method(std::string_view name);
value wrap_method(std::string_view name, method_function function, value self);
value loop_attribute(context& ctx, const value& loop, std::string_view name);

/// A call's arguments by parameter; empty where none was given.
using bound_arguments = std::vector<std::optional<value>>;

/// Puts a call's arguments to parameters: positional ones in order, the others
/// by name. Throws render_error for what does not fit.
bound_arguments bind(std::string_view function, const arguments& args,
                     std::initializer_list<std::string_view> names,
                     std::size_t required = 0);

/// An argument that is there and not none.
inline bool given(const std::optional<value>& v) { return v && !v->is_none(); }
/// An argument that is there and true.
inline bool flag(const std::optional<value>& v) { return v && v->truthy(); }

/// Conversions of arguments; they throw render_error for another type.
std::int64_t to_integer(const value& v, std::string_view what);
const text& to_string_argument(const value& v, std::string_view what);

/// Shared with the filters.
text replace_all(context& ctx, const text& s, const text& old_part,
                 const text& new_part, std::int64_t count);
std::vector<text> split_lines(context& ctx, const text& s, bool keep_ends);
/// The pieces between occurrences of `by`, at most `limit` cuts; -1: all.
std::vector<byte_range> split_at(std::string_view s, std::string_view by,
                                 std::int64_t limit);
text join_texts(context& ctx, const std::vector<text>& parts,
                const text& separator);

}  // namespace vouch::engine::jinja
