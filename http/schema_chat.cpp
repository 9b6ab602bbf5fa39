#include <utility>

#include <spdlog/fmt/fmt.h>

#include "http/error.hpp"
#include "http/json_document.hpp"
#include "http/schema_parts.hpp"
#include "http/text.hpp"

namespace vouch::http {

namespace dom = simdjson::dom;

namespace {

// Text parts become one string, joined by line feeds: what templates that know
// strings alone expect.
std::string flattened(dom::array parts, const std::string& path) {
  std::string text;
  std::size_t index = 0;
  for (const auto element : parts) {
    const auto part_path = fmt::format("{}[{}]", path, index);
    dom::object part;
    if (element.get(part)) expected(part_path, "an object", element);
    object_fields fields{part, part_path + "."};
    const auto type = fields.string("type");
    if (!type) throw bad_field(part_path + ".type", "is required");
    if (*type != "text") {
      throw api_error{400,
                      part_path +
                          ".type: this server takes text parts only, "
                          "given " +
                          json_quoted(shortened(*type, 40)),
                      part_path + ".type", "unsupported_content"};
    }
    const auto piece = fields.string("text");
    if (!piece) throw bad_field(part_path + ".text", "is required");
    if (index++ > 0) text += '\n';
    text += *piece;
  }
  if (index == 0) throw bad_field(path, "expected at least one part");
  return text;
}

// One message as it came, but for content, which becomes a string.
std::string checked_message(dom::element element, const std::string& path) {
  dom::object message;
  if (element.get(message)) expected(path, "an object", element);
  object_fields fields{message, path + "."};
  const auto role = fields.string("role");
  if (!role) throw bad_field(path + ".role", "is required");
  if (*role != "system" && *role != "developer" && *role != "user" &&
      *role != "assistant" && *role != "tool") {
    throw bad_field(path + ".role",
                    "expected system, developer, user, assistant or tool, "
                    "given " +
                        json_quoted(shortened(*role, 40)));
  }
  const auto content = fields.any("content");
  const auto calls = fields.array("tool_calls");
  if (!content && !(*role == "assistant" && calls))
    throw bad_field(path + ".content", "is required");
  if (content && !content->is_string() && !content->is_array())
    expected(path + ".content", "a string or a list of parts", *content);
  fields.string("name");

  std::string out = "{";
  for (const auto field : message) {
    if (out.size() > 1) out += ',';
    out += json_quoted(field.key) + ':';
    if (field.key == "content" && field.value.is_array()) {
      out += json_quoted(
          flattened(field.value.get_array().value_unsafe(), path + ".content"));
    } else {
      out += simdjson::minify(field.value);
    }
  }
  return out + '}';
}

std::string read_messages(object_fields& fields) {
  const auto list = fields.array("messages");
  if (!list) throw bad_field("messages", "is required");
  if (list->size() == 0)
    throw bad_field("messages", "expected at least one message");
  if (list->size() > max_messages) {
    throw bad_field("messages", fmt::format("expected at most {}, given {}",
                                            max_messages, list->size()));
  }
  std::string out = "[";
  std::size_t index = 0;
  for (const auto element : *list) {
    if (index > 0) out += ',';
    out += checked_message(element, fmt::format("messages[{}]", index++));
  }
  return out + ']';
}

// Tools reach the template only where no call can be asked back.
std::string read_tools(object_fields& fields) {
  const auto tools = fields.array("tools");
  const auto choice = fields.any("tool_choice");
  std::string_view choice_name;
  if (choice && !choice->is_object() &&
      (choice->get(choice_name) ||
       (choice_name != "none" && choice_name != "auto" &&
        choice_name != "required"))) {
    expected("tool_choice", "none, auto, required or an object", *choice);
  }
  if (!tools || tools->size() == 0) {
    if (choice && choice_name != "none" && choice_name != "auto")
      throw bad_field("tool_choice", "is only allowed with tools");
    return {};
  }
  std::size_t index = 0;
  for (const auto tool : *tools) {
    if (!tool.is_object())
      expected(fmt::format("tools[{}]", index), "an object", tool);
    ++index;
  }
  if (choice_name != "none") {
    throw not_built_field(
        "tools",
        "tool calling (tool_choice: \"none\" shows them to the "
        "template)");
  }
  return simdjson::minify(*tools);
}

void refuse_other_media(object_fields& fields) {
  if (fields.any("audio")) throw not_built_field("audio", "audio output");
  if (const auto list = fields.array("modalities")) {
    for (const auto element : *list) {
      std::string_view name;
      if (element.get(name) || name != "text")
        expected("modalities", "[\"text\"]", element);
    }
  }
}

void refuse_other_calls(object_fields& fields) {
  if (fields.any("functions"))
    throw not_built_field("functions", "function calling");
  if (fields.any("function_call"))
    throw not_built_field("function_call", "function calling");
  if (fields.any("chat_template")) {
    throw bad_field("chat_template", "a request cannot bring its own template");
  }
  if (fields.boolean("continue_final_message").value_or(false)) {
    throw not_built_field("continue_final_message",
                          "continuing the last message");
  }
}

void read_chat_logprobs(object_fields& fields, const schema_context& context,
                        generation_job& job,
                        actors::generation_request& request) {
  job.logprobs = fields.boolean("logprobs").value_or(false);
  const auto top = fields.integer("top_logprobs", 0,
                                  context.settings.server.max_top_logprobs);
  if (top && *top > 0 && !job.logprobs)
    throw bad_field("top_logprobs", "is only allowed with logprobs: true");
  if (job.logprobs)
    request.sampling.logprobs = static_cast<int>(top.value_or(0));
}

void read_template_variables(object_fields& fields, template_job& prompt) {
  const auto variables = fields.object("chat_template_kwargs");
  if (!variables) return;
  for (const auto entry : *variables) {
    if (entry.key == "messages" || entry.key == "tools" ||
        entry.key == "add_generation_prompt") {
      throw bad_field("chat_template_kwargs",
                      "cannot replace " + json_quoted(entry.key));
    }
  }
  prompt.variables = simdjson::minify(*variables);
}

}  // namespace

void read_chat_prompt(object_fields& fields, const schema_context& context,
                      template_job& prompt) {
  if (!context.model.has_chat_template) {
    throw api_error{400,
                    "the model has no chat template; use /v1/completions, or "
                    "start the server with one",
                    "messages", "no_chat_template"};
  }
  prompt.messages = read_messages(fields);
  prompt.add_generation_prompt =
      fields.boolean("add_generation_prompt").value_or(true);
  read_template_variables(fields, prompt);
  prompt.tools = read_tools(fields);
}

generation_job parse_chat(std::string_view body,
                          const schema_context& context) {
  request_fields fields{body, context};
  generation_job job;
  job.kind = generation_kind::chat;
  actors::generation_request request;
  request.kind = actors::prompt_kind::chat;
  request.add_special_tokens = false;
  template_job prompt;
  read_chat_prompt(fields, context, prompt);
  request.messages = std::move(prompt.messages);
  request.tools = std::move(prompt.tools);
  request.template_variables = std::move(prompt.variables);
  request.add_generation_prompt = prompt.add_generation_prompt;

  read_common(fields, context, job, request);
  if (request.max_tokens == 0) {
    throw bad_field(fields.any("max_completion_tokens")
                        ? "max_completion_tokens"
                        : "max_tokens",
                    "expected at least 1, given 0 (0 is for completions with "
                    "echo: true)");
  }
  read_chat_logprobs(fields, context, job, request);
  refuse_not_built(fields);
  refuse_other_media(fields);
  refuse_other_calls(fields);
  for (const auto* name :
       {"parallel_tool_calls", "metadata", "store", "service_tier",
        "reasoning_effort", "verbosity", "prediction", "safety_identifier",
        "prompt_cache_key", "web_search_options"})
    fields.accept(name);
  fields.reject_unknown();
  job.requests.push_back(std::move(request));
  return job;
}

template_job parse_template(std::string_view body,
                            const schema_context& context) {
  request_fields fields{body, context};
  template_job job;
  read_chat_prompt(fields, context, job);
  refuse_other_calls(fields);
  fields.reject_unknown();
  return job;
}

}  // namespace vouch::http
