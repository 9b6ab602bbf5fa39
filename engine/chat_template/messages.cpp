#include "engine/chat_template/messages.hpp"

#include <algorithm>
#include <array>
#include <optional>

#include "engine/chat_template/json.hpp"

namespace vouch::engine::jinja {
namespace {

constexpr std::array<std::string_view, 6> roles{
    "system", "developer", "user", "assistant", "tool", "function"};

/// `d` with `key` replaced, in its place.
value with_item(const dict& d, std::string_view key, value item) {
  dict copy = d;
  copy.set(make_string(key, false), std::move(item));
  return make_dict(std::move(copy));
}

std::optional<value> parsed_object(const value& arguments) {
  if (!arguments.is_string()) return std::nullopt;
  try {
    value parsed = parse_json(arguments.bytes(), "arguments");
    if (parsed.is_dict()) return parsed;
  } catch (const std::invalid_argument&) {
    // Not JSON: the template gets the text.
  }
  return std::nullopt;
}

value with_parsed_arguments(const value& calls, bool& parsed_any) {
  if (!calls.is_sequence()) return calls;
  std::vector<value> result;
  for (const value& call : calls.as_sequence().items) {
    result.push_back(call);
    if (!call.is_dict()) continue;
    const value* function = call.as_dict().find("function");
    if (!function || !function->is_dict()) continue;
    const value* arguments = function->as_dict().find("arguments");
    if (!arguments) continue;
    std::optional<value> object = parsed_object(*arguments);
    if (!object) continue;
    parsed_any = true;
    result.back() = with_item(
        call.as_dict(), "function",
        with_item(function->as_dict(), "arguments", std::move(*object)));
  }
  return make_sequence(sequence_type::list, std::move(result), true);
}

value prepare(const dict& message, bool parse_arguments, bool& parsed_any) {
  const value* reasoning = nullptr;
  for (const char* name : {"reasoning_content", "thinking", "reasoning"}) {
    const value* v = message.find(name);
    if (!reasoning && v && !v->is_none()) reasoning = v;
  }
  dict result;
  result.tainted = true;
  if (reasoning) {
    // First, as transformers puts it, unless the message has its own.
    result.set(make_string("thinking", false), *reasoning);
  }
  for (const auto& [key, v] : message.entries) {
    if (v.is_none()) continue;
    value item = v;
    const std::string& name = key.bytes();
    if (name == "role" && v.is_string() &&
        std::find(roles.begin(), roles.end(), v.bytes()) != roles.end()) {
      item = make_string(v.bytes(), true);
    } else if (name == "tool_calls" && parse_arguments) {
      item = with_parsed_arguments(v, parsed_any);
    }
    result.set(key, std::move(item));
  }
  if (reasoning) {
    result.set(make_string("reasoning_content", false), *reasoning);
  }
  return make_dict(std::move(result));
}

}  // namespace

value prepare_messages(const value& messages, bool parse_arguments,
                       bool& parsed_any) {
  if (!messages.is_sequence()) {
    throw std::invalid_argument("messages: must be an array");
  }
  std::vector<value> result;
  for (const value& message : messages.as_sequence().items) {
    if (!message.is_dict()) {
      throw std::invalid_argument("messages[" + std::to_string(result.size()) +
                                  "]: must be an object");
    }
    result.push_back(prepare(message.as_dict(), parse_arguments, parsed_any));
  }
  return make_sequence(sequence_type::list, std::move(result), true);
}

}  // namespace vouch::engine::jinja
