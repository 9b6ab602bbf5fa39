#include <cstdio>
#include <iostream>
#include <memory>
#include <string>

#include "cli/commands.hpp"
#include "cli/conversation.hpp"
#include "cli/session.hpp"
#include "cli/text_input.hpp"

namespace vouch::cli {

namespace {

struct options {
  generation_options generation;
  std::string prompt;
  bool chat = false;
  std::string system;
};

void print_statistics(const outcome& result) {
  const auto decode = result.seconds - result.seconds_to_first_token;
  std::fprintf(stderr,
               "\n[%lld prompt tokens, %lld generated, %s; first token after "
               "%.3f s, then %.1f tok/s]\n",
               static_cast<long long>(result.prompt_tokens),
               static_cast<long long>(result.completion_tokens),
               result.finish_reason.c_str(), result.seconds_to_first_token,
               result.completion_tokens > 1 && decode > 0.0
                   ? static_cast<double>(result.completion_tokens - 1) / decode
                   : 0.0);
}

int run(const options& chosen, bool has_prompt) {
  const auto prompt = given_or_stdin(chosen.prompt, has_prompt);
  session local{chosen.generation};
  auto request = local.request();
  if (chosen.chat) {
    request.kind = actors::prompt_kind::chat;
    request.messages =
        "[" +
        (chosen.system.empty() ? std::string{}
                               : message_json("system", chosen.system) + ",") +
        message_json("user", prompt) + "]";
  } else {
    request.kind = actors::prompt_kind::text;
    request.text = prompt;
  }
  bool printed = false;
  const auto result =
      local.run(std::move(request), [&printed](const std::string& text) {
        std::cout << text << std::flush;
        printed = printed || !text.empty();
        return std::cout.good();
      });
  if (printed) {
    std::cout << '\n';
  }
  if (!result.ok) {
    std::cerr << "vouch: " << result.error << '\n';
    return exit_failed;
  }
  if (!chosen.generation.quiet) {
    print_statistics(result);
  }
  return exit_ok;
}

}  // namespace

void add_generate(CLI::App& app, action& chosen) {
  auto* command = app.add_subcommand(
      "generate", "Continues a prompt, without a server; text to stdout.");
  auto picked = std::make_shared<options>();
  add_generation_options(*command, picked->generation);
  auto* prompt = command->add_option("prompt", picked->prompt,
                                     "The prompt; absent: stdin");
  command->add_flag("--chat", picked->chat,
                    "The prompt is a user's message: use the chat template");
  command->add_option("--system", picked->system,
                      "System message, with --chat");
  command->callback([&chosen, picked, prompt] {
    if (!picked->system.empty() && !picked->chat) {
      throw CLI::ValidationError("--system", "needs --chat");
    }
    chosen = [picked, prompt] { return run(*picked, prompt->count() > 0); };
  });
}

}  // namespace vouch::cli
