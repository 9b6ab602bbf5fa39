#include <algorithm>

#include "engine/chat_template/context.hpp"
#include "engine/chat_template/format.hpp"
#include "engine/chat_template/methods.hpp"
#include "engine/chat_template/operators.hpp"
#include "engine/chat_template/repr.hpp"
#include "engine/chat_template/unicode.hpp"

// "...".format(...): {} fields with an optional !s or !r and a specification.
namespace vouch::engine::jinja {

text format_braces(context& ctx, const text& format, const arguments& args) {
  const std::string_view bytes = format.bytes();
  ctx.charge_bytes(bytes.size());
  text out;
  std::size_t next_argument = 0;
  for (std::size_t i = 0; i < bytes.size();) {
    const std::size_t brace = bytes.find_first_of("{}", i);
    if (brace == std::string_view::npos) {
      out.append(format.slice(i, bytes.size()));
      break;
    }
    ctx.charge();
    out.append(format.slice(i, brace));
    if (brace + 1 < bytes.size() && bytes[brace + 1] == bytes[brace]) {
      out.append(format.slice(brace, brace + 1));
      i = brace + 2;
      continue;
    }
    if (bytes[brace] == '}') {
      throw render_error("Single '}' encountered in format string");
    }
    const std::size_t close = find_bytes(bytes, "}", brace);
    if (close == std::string_view::npos) {
      throw render_error("expected '}' before end of string");
    }
    std::string_view field = bytes.substr(brace + 1, close - brace - 1);
    i = close + 1;
    specification spec;
    const std::size_t colon = field.find(':');
    if (colon != std::string_view::npos) {
      spec = parse_specification(field.substr(colon + 1));
      field = field.substr(0, colon);
    }
    spec.trusted = format.trusted();
    bool as_repr = false;
    if (field.size() >= 2 && field[field.size() - 2] == '!') {
      as_repr = field.back() == 'r';
      field = field.substr(0, field.size() - 2);
    }
    const std::size_t path = std::min(field.find_first_of(".["), field.size());
    const std::string_view head = field.substr(0, path);
    value v;
    if (head.empty() || is_digit(head[0])) {
      std::size_t at = 0;
      const std::size_t index =
          head.empty() ? next_argument++ : parse_number(head, at);
      if (index >= args.positional.size()) {
        throw render_error("Replacement index " + std::to_string(index) +
                           " out of range for positional args tuple");
      }
      v = args.positional[index];
    } else {
      const auto it =
          std::find_if(args.keywords.begin(), args.keywords.end(),
                       [&](const auto& k) { return k.first == head; });
      if (it == args.keywords.end()) {
        throw render_error("'" + std::string{head} + "'");
      }
      v = it->second;
    }
    for (std::size_t at = path; at < field.size();) {
      if (field[at] == '.') {
        const std::size_t end =
            std::min(field.find_first_of(".[", at + 1), field.size());
        v = get_attribute(ctx, v, field.substr(at + 1, end - at - 1));
        at = end;
      } else {
        const std::size_t end = field.find(']', at);
        if (end == std::string_view::npos) {
          throw render_error("Missing ']' in format string");
        }
        const std::string_view key = field.substr(at + 1, end - at - 1);
        std::size_t digits = 0;
        const bool number =
            !key.empty() && std::all_of(key.begin(), key.end(), is_digit);
        v = get_item(ctx, v,
                     number ? value::size(parse_number(key, digits))
                            : make_string(key, true));
        at = end + 1;
      }
    }
    out.append(format_value(ctx, as_repr ? value{repr(ctx, v)} : v, spec));
    ctx.check_bytes(out.size());
  }
  return out;
}

}  // namespace vouch::engine::jinja
