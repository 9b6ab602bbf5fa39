#include "cli/conversation.hpp"

#include <boost/json.hpp>

#include "engine/error.hpp"

namespace vouch::cli {

namespace json = boost::json;

namespace {

json::value parse(std::string_view text, const std::string& name) {
  json::stream_parser parser;
  json::error_code failure;
  const auto used = parser.write_some({text.data(), text.size()}, failure);
  const auto rest = text.substr(used);
  if (!failure && rest.find_first_not_of(" \t\r\n") != std::string_view::npos) {
    failure = json::error::extra_data;
  }
  if (!failure) {
    parser.finish(failure);
  }
  if (failure) {
    throw engine::input_error(name, "not JSON at offset " +
                                        std::to_string(used) + ": " +
                                        failure.message());
  }
  return parser.release();
}

}  // namespace

engine::template_input read_conversation(std::string_view text,
                                         const std::string& name) {
  auto value = parse(text, name);
  engine::template_input input;
  if (value.is_array()) {
    input.messages = json::serialize(value);
    return input;
  }
  if (!value.is_object() || !value.as_object().contains("messages")) {
    throw engine::input_error(
        name, "expected a list of messages or an object with `messages`");
  }
  json::object variables;
  for (auto& [key, member] : value.as_object()) {
    if (key == "messages") {
      input.messages = json::serialize(member);
    } else if (key == "tools") {
      input.tools = member.is_null() ? "" : json::serialize(member);
    } else if (key == "add_generation_prompt") {
      if (!member.is_bool()) {
        throw engine::input_error(name,
                                  "add_generation_prompt: expected a boolean");
      }
      input.add_generation_prompt = member.as_bool();
    } else {
      variables[key] = member;
    }
  }
  input.variables = json::serialize(variables);
  return input;
}

void add_variables(engine::template_input& input,
                   const std::vector<std::string>& assignments) {
  if (assignments.empty()) {
    return;
  }
  json::object variables;
  if (!input.variables.empty()) {
    variables = parse(input.variables, "variables").as_object();
  }
  for (const auto& assignment : assignments) {
    const auto equals = assignment.find('=');
    if (equals == std::string::npos || equals == 0) {
      throw engine::input_error("--var " + assignment,
                                "expected NAME=JSON or NAME=text");
    }
    const auto text = assignment.substr(equals + 1);
    json::error_code failure;
    auto value = json::parse(text, failure);
    variables[assignment.substr(0, equals)] =
        failure ? json::value(text) : std::move(value);
  }
  input.variables = json::serialize(variables);
}

std::string json_string(std::string_view text) {
  return json::serialize(json::string{text.data(), text.size()});
}

std::string message_json(std::string_view role, std::string_view content) {
  return "{\"role\":" + json_string(role) +
         ",\"content\":" + json_string(content) + "}";
}

}  // namespace vouch::cli
