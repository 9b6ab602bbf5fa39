#include <iostream>
#include <memory>
#include <string>
#include <unistd.h>
#include <vector>

#include "cli/commands.hpp"
#include "cli/conversation.hpp"
#include "cli/session.hpp"
#include "engine/error.hpp"

namespace vouch::cli {

namespace {

struct options {
  generation_options generation;
  std::string system;
};

constexpr const char* help =
    "/reset forgets the conversation, /system TEXT sets the system message,\n"
    "/help shows this, /exit or Ctrl-D leaves, Ctrl-C stops an answer.\n";

/// The conversation so far, as the JSON the template is given.
class conversation {
 public:
  explicit conversation(std::string system) : system_(std::move(system)) {}

  void add(std::string_view role, std::string_view content) {
    messages_.push_back(message_json(role, content));
  }
  void drop_last() { messages_.pop_back(); }
  void reset() { messages_.clear(); }
  void set_system(std::string text) { system_ = std::move(text); }

  std::string json() const {
    std::string text = "[";
    if (!system_.empty()) {
      text += message_json("system", system_);
    }
    for (const auto& message : messages_) {
      text += text.size() > 1 ? "," : "";
      text += message;
    }
    return text + "]";
  }

 private:
  std::string system_;
  std::vector<std::string> messages_;
};

/// Answers the conversation's last message; false when that failed.
bool answer(session& local, conversation& talk) {
  auto request = local.request();
  request.kind = actors::prompt_kind::chat;
  request.messages = talk.json();
  std::string text;
  const auto result =
      local.run(std::move(request), [&text](const std::string& piece) {
        text += piece;
        std::cout << piece << std::flush;
        return std::cout.good();
      });
  std::cout << '\n';
  if (!result.ok && text.empty()) {
    talk.drop_last();
    std::cerr << "vouch: " << result.error << '\n';
    return false;
  }
  talk.add("assistant", text);
  return true;
}

int run(const options& chosen) {
  session local{chosen.generation};
  if (!local.model().has_chat_template &&
      chosen.generation.template_file.empty()) {
    throw engine::input_error(chosen.generation.model,
                              "the model has no chat template; give one with "
                              "--chat-template, or use `vouch generate`");
  }
  const bool terminal = isatty(STDIN_FILENO) != 0;
  if (terminal) {
    std::cout << local.model().name << ". " << help;
  }
  conversation talk{chosen.system};
  bool all_answered = true;
  std::string line;
  while (true) {
    if (terminal) {
      std::cout << "> " << std::flush;
    }
    if (!std::getline(std::cin, line) || line == "/exit") {
      break;
    }
    if (line.empty()) {
      continue;
    }
    if (line == "/help") {
      std::cout << help;
    } else if (line == "/reset") {
      talk.reset();
    } else if (line.rfind("/system ", 0) == 0) {
      talk.set_system(line.substr(8));
    } else if (line[0] == '/') {
      std::cerr << "'" << line.substr(0, line.find(' '))
                << "' is not a command here.\n"
                << help;
    } else {
      talk.add("user", line);
      all_answered = answer(local, talk) && all_answered;
    }
  }
  return all_answered ? exit_ok : exit_failed;
}

}  // namespace

void add_chat(CLI::App& app, action& chosen) {
  auto* command = app.add_subcommand(
      "chat", "Talks with a model in the terminal, without a server.");
  auto picked = std::make_shared<options>();
  add_generation_options(*command, picked->generation);
  command->add_option("--system", picked->system, "System message");
  command->footer(help);
  command->callback(
      [&chosen, picked] { chosen = [picked] { return run(*picked); }; });
}

}  // namespace vouch::cli
