#pragma once

#include <chrono>
#include <condition_variable>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include <caf/all.hpp>

#include "actors/interfaces.hpp"

namespace vouch::test {

/// What one request's client saw.
struct outcome {
  int starts = 0;
  /// Terminal events; has to end as 1.
  int terminals = 0;
  /// Events after the terminal one, or tokens before `started`.
  int misplaced = 0;
  actors::started start;
  actors::finished end;
  actors::failed error;
  bool failed = false;
  struct choice {
    std::string text;
    std::vector<actors::token_info> emitted;
    std::vector<actors::token_info> prompt;
    std::string finish_reason;
    std::string stop_reason;
    engine::token_id stop_token = -1;
    std::optional<engine::speculation_report> speculation;
    std::vector<engine::token_id> ids() const;
  };
  std::map<int, choice> choices;

  const std::string& text(int index = 0) const {
    return choices.at(index).text;
  }
};

/// Events of many requests, by id. Safe from any thread.
class transcript {
 public:
  void add(const actors::started& event);
  void add(const actors::tokens& event);
  void add(const actors::finished& event);
  void add(const actors::failed& event);

  /// Waits for the terminal events of `count` requests; false after 60 s.
  bool wait_for_ends(std::size_t count) const;
  /// Waits for the terminal event of `id`.
  outcome wait(const std::string& id) const;
  /// Waits until `id` has received `count` tokens (or has ended).
  bool wait_for_tokens(const std::string& id, std::size_t count) const;
  std::map<std::string, outcome> all() const;

 private:
  template <class Condition>
  bool wait_until(Condition condition) const;

  mutable std::mutex mutex_;
  mutable std::condition_variable changed_;
  std::map<std::string, outcome> outcomes_;
  std::size_t ends_ = 0;
};

/// An actor that writes everything down.
actors::client_actor spawn_client(caf::actor_system& system,
                                  std::shared_ptr<transcript> into);

/// A greedy text request that ignores the end of generation.
actors::generation_request text_request(const std::string& id,
                                        const std::string& text,
                                        std::int64_t max_tokens);

}  // namespace vouch::test
