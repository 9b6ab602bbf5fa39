// Embeds Vouch in a program that has an actor system of its own: an actor
// submits a request to the runtime and prints the typed events it receives.
//
//   embed MODEL PROMPT

#include <exception>
#include <iostream>
#include <string>

#include <caf/all.hpp>

#include "runtime/runtime.hpp"

namespace {

using namespace vouch;

struct config : caf::actor_system_config {
  config() { runtime::configure(*this); }
};

/// Receives a request's events, prints them to `out` and ends with it.
actors::client_actor::behavior_type printer(actors::client_actor::pointer self,
                                            std::ostream* out) {
  return {
      [out](const actors::started& event) {
        *out << "started: " << event.prompt_tokens << " prompt tokens, seed "
             << event.seed << "\n";
      },
      [out](const actors::tokens& event) {
        *out << "choice " << event.choice << ": \"" << event.text << "\"";
        if (!event.finish_reason.empty()) {
          *out << " (" << event.finish_reason << ")";
        }
        *out << std::endl;
      },
      [self, out](const actors::finished& event) {
        *out << "finished: " << event.prompt_tokens << " prompt tokens, "
             << event.completion_tokens << " generated" << std::endl;
        self->quit();
      },
      [self, out](const actors::failed& event) {
        *out << "failed: " << event.message << std::endl;
        self->quit(caf::exit_reason::user_shutdown);
      },
  };
}

int run(const std::string& model, const std::string& prompt) {
  config system_config;
  caf::actor_system system{system_config};

  runtime::config settings;
  settings.model.path = model;
  runtime::runtime engine{system, settings};
  engine.wait_until_ready();

  actors::generation_request request;
  request.id = "example-1";
  request.text = prompt;
  request.max_tokens = 16;
  request.sampling.temperature = 0;
  request.sampling.ignore_eos = true;

  // Monitoring the client is one way to wait for the terminal event.
  caf::scoped_actor self{system};
  const auto client = self->spawn<caf::monitored>(printer, &std::cout);
  engine.submit(std::move(request), client);
  bool good = false;
  self->receive([&](const caf::down_msg& down) {
    good = down.reason == caf::exit_reason::normal;
  });
  return good ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) {
    std::cerr << "usage: embed MODEL PROMPT\n";
    return 2;
  }
  try {
    return run(argv[1], argv[2]);
  } catch (const std::exception& error) {
    std::cerr << "embed: " << error.what() << "\n";
    return 1;
  }
}
