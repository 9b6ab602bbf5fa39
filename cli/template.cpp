#include <chrono>
#include <filesystem>
#include <iostream>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>
#include <unistd.h>
#include <vector>

#include "cli/commands.hpp"
#include "cli/conversation.hpp"
#include "cli/text_input.hpp"
#include "engine/chat_template/chat_template.hpp"
#include "engine/checkpoint/checkpoint.hpp"
#include "engine/checkpoint/template_source.hpp"
#include "engine/error.hpp"
#include "engine/tokenizer/special_tokens.hpp"

namespace vouch::cli {

namespace {

struct options {
  std::string model;
  std::string file;
  std::string conversation = "-";
  std::string tools;
  std::vector<std::string> variables;
  bool no_generation_prompt = false;
  bool spans = false;
};

/// The template's name and source, and the special tokens it may print.
struct source {
  std::string name;
  std::string text;
  std::vector<std::pair<std::string, std::string>> special_tokens;
};

source find_source(const options& chosen) {
  source found;
  if (!chosen.model.empty()) {
    const auto tokens = engine::load_tokenizer(chosen.model);
    found.special_tokens = engine::special_token_strings(*tokens);
    found.name = chosen.model;
    if (chosen.file.empty()) {
      found.text = engine::find_chat_template(chosen.model);
    }
  }
  if (!chosen.file.empty()) {
    found.name = chosen.file;
    found.text = read_all(chosen.file);
  } else if (found.text.empty()) {
    throw engine::input_error(chosen.model, "the model has no chat template");
  }
  return found;
}

int run(const options& chosen) {
  const auto from = find_source(chosen);
  const engine::chat_template parsed{from.text, from.name};
  auto input =
      read_conversation(read_all(chosen.conversation), chosen.conversation);
  if (!chosen.tools.empty()) {
    input.tools = read_all(chosen.tools);
  }
  add_variables(input, chosen.variables);
  input.special_tokens = from.special_tokens;
  input.now = std::chrono::system_clock::now();
  if (chosen.no_generation_prompt) {
    input.add_generation_prompt = false;
  }
  try {
    const auto spans = parsed.render(input);
    if (chosen.spans) {
      for (const auto& span : spans) {
        std::cout << (span.trusted ? "template\t" : "input\t")
                  << json_string(span.text) << '\n';
      }
      return exit_ok;
    }
    std::cout << engine::joined(spans);
    if (isatty(STDOUT_FILENO) != 0) {
      std::cout << '\n';
    }
  } catch (const engine::template_error& error) {
    // It begins with the template's name, as input_error does.
    std::string_view message = error.what();
    const std::string start = from.name + ": ";
    if (message.substr(0, start.size()) == start) {
      message.remove_prefix(start.size());
    }
    throw engine::input_error(from.name, std::string{message});
  } catch (const std::invalid_argument& error) {
    throw engine::input_error(chosen.conversation, error.what());
  }
  return exit_ok;
}

}  // namespace

void add_template(CLI::App& app, action& chosen) {
  auto* command = app.add_subcommand(
      "template", "Renders a conversation with a chat template.");
  auto picked = std::make_shared<options>();
  auto* model =
      command->add_option("-m,--model", picked->model,
                          "Model whose template (and special tokens) to use");
  auto* file = command->add_option("-t,--template", picked->file,
                                   "A .jinja file instead");
  command->add_option(
      "conversation", picked->conversation,
      "JSON file: a list of messages, or an object with messages, tools, "
      "add_generation_prompt and other variables; -: stdin");
  command->add_option("--tools", picked->tools, "JSON file with tools");
  command->add_option("--var", picked->variables,
                      "NAME=JSON, a variable for the template; repeatable");
  command->add_flag("--no-generation-prompt", picked->no_generation_prompt,
                    "Do not open the assistant's turn");
  command->add_flag("--spans", picked->spans,
                    "Show which text the template wrote and which came from "
                    "the input, one JSON string a line");
  command->callback([&chosen, picked, model, file] {
    if (model->count() == 0 && file->count() == 0) {
      throw CLI::RequiredError("--model or --template");
    }
    chosen = [picked] { return run(*picked); };
  });
}

}  // namespace vouch::cli
