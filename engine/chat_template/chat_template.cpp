#include "engine/chat_template/chat_template.hpp"

#include <simdjson.h>

#include "engine/chat_template/evaluator.hpp"
#include "engine/chat_template/json.hpp"
#include "engine/chat_template/lexer.hpp"
#include "engine/chat_template/messages.hpp"
#include "engine/chat_template/parser.hpp"

namespace vouch::engine {

struct chat_template::impl {
  std::string name;
  jinja::body content;
};

namespace {

struct parsed_input {
  jinja::value messages;
  jinja::value tools = jinja::value::none();
  jinja::value variables;
};

parsed_input parse(const template_input& input) {
  parsed_input parsed;
  parsed.messages = jinja::parse_json(input.messages, "messages");
  if (!input.tools.empty()) {
    parsed.tools = jinja::parse_json(input.tools, "tools");
    if (!parsed.tools.is_sequence() && !parsed.tools.is_none()) {
      throw std::invalid_argument("tools: must be an array");
    }
  }
  if (!input.variables.empty()) {
    parsed.variables = jinja::parse_json(input.variables, "variables");
    if (!parsed.variables.is_dict()) {
      throw std::invalid_argument("variables: must be an object");
    }
  }
  return parsed;
}

/// A message may hold text of the request, of any length.
std::string shortened(std::string message) {
  constexpr std::size_t limit = 2000;
  if (message.size() <= limit) return message;
  std::size_t end = limit;
  while (end > 0 &&
         (static_cast<unsigned char>(message[end]) & 0xC0U) == 0x80U) {
    --end;
  }
  return message.substr(0, end).append("...");
}

std::vector<text_span> to_spans(const jinja::text& t) {
  std::vector<text_span> spans;
  std::size_t offset = 0;
  for (const jinja::text::run& run : t.runs()) {
    spans.push_back({t.bytes().substr(offset, run.length), run.trusted});
    offset += run.length;
  }
  return spans;
}

}  // namespace

chat_template::chat_template(std::string_view source, std::string name) {
  if (!simdjson::validate_utf8(source.data(), source.size())) {
    throw input_error(name, "the template is not valid UTF-8");
  }
  auto made = std::make_unique<impl>();
  made->name = std::move(name);
  try {
    made->content = jinja::parse(source);
  } catch (const jinja::syntax_error& e) {
    throw input_error(made->name,
                      "line " + std::to_string(e.line) + ": " + e.what());
  }
  impl_ = std::move(made);
}

chat_template::~chat_template() = default;
chat_template::chat_template(chat_template&&) noexcept = default;
chat_template& chat_template::operator=(chat_template&&) noexcept = default;

std::vector<text_span> chat_template::render(
    const template_input& input) const {
  const parsed_input parsed = parse(input);
  const auto attempt = [&](bool parse_arguments, bool& parsed_any) {
    jinja::evaluator evaluator{input.budget, input.now};
    evaluator.define(
        "messages",
        jinja::prepare_messages(parsed.messages, parse_arguments, parsed_any));
    evaluator.define("tools", parsed.tools);
    evaluator.define("documents", jinja::value::none());
    evaluator.define("add_generation_prompt",
                     jinja::value{input.add_generation_prompt});
    for (const auto& [name, spelling] : input.special_tokens) {
      evaluator.define(name, jinja::make_string(spelling, true));
    }
    if (parsed.variables.is_dict()) {
      for (const auto& [key, v] : parsed.variables.as_dict().entries) {
        evaluator.define(key.bytes(), v);
      }
    }
    try {
      return to_spans(evaluator.run(impl_->content));
    } catch (const jinja::render_error& e) {
      throw template_error(impl_->name + ": line " +
                           std::to_string(evaluator.line) + ": " +
                           shortened(e.what()));
    }
  };
  bool parsed_any = false;
  try {
    return attempt(true, parsed_any);
  } catch (const template_error&) {
    // Some templates (DeepSeek V3.1) put the arguments' text into a string:
    // they need them as the client sent them.
    if (!parsed_any) throw;
    try {
      return attempt(false, parsed_any);
    } catch (const template_error&) {
      // The first error is the one to report.
    }
    throw;
  }
}

std::string joined(const std::vector<text_span>& spans) {
  std::string all;
  for (const text_span& span : spans) all += span.text;
  return all;
}

}  // namespace vouch::engine
