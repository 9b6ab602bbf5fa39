#pragma once

#include <memory>
#include <string>
#include <utility>

#include "runtime/runtime.hpp"
#include "tests/support/client.hpp"
#include "tests/support/fake_model.hpp"

namespace vouch::test {

/// An actor system as an embedder makes it.
struct host {
  struct config : caf::actor_system_config {
    config() { runtime::configure(*this); }
  };
  config settings;
  caf::actor_system system{settings};
};

/// A runtime with real threads and a fake model.
class served {
 public:
  explicit served(runtime::config settings = {},
                  fake_executor_options options = {},
                  const std::string& chat_template = {})
      : runtime(host_.system, std::move(settings),
                make_fake_components(std::move(options), chat_template)) {
    runtime.wait_until_ready();
  }

  void submit(actors::generation_request request) {
    runtime.submit(std::move(request), spawn_client(host_.system, events));
  }
  /// Submits and waits for the end.
  outcome run(actors::generation_request request) {
    const auto id = request.id;
    submit(std::move(request));
    return events->wait(id);
  }
  caf::actor_system& system() { return host_.system; }

  /// Waits until nothing runs or waits and no block is held by a sequence.
  bool idle_again() const {
    for (int i = 0; i < 2000; ++i) {
      const auto now = runtime.stats();
      if (now.running == 0 && now.waiting == 0) {
        return true;
      }
      std::this_thread::sleep_for(std::chrono::milliseconds{5});
    }
    return false;
  }

 private:
  host host_;

 public:
  std::shared_ptr<transcript> events = std::make_shared<transcript>();
  runtime::runtime runtime;
};

}  // namespace vouch::test
