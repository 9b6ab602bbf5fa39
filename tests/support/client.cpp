#include "tests/support/client.hpp"

namespace vouch::test {

std::vector<engine::token_id> outcome::choice::ids() const {
  std::vector<engine::token_id> out;
  for (const auto& token : emitted) {
    out.push_back(token.token);
  }
  return out;
}

void transcript::add(const actors::started& event) {
  const std::lock_guard lock{mutex_};
  auto& seen = outcomes_[event.id];
  seen.misplaced += seen.terminals;
  ++seen.starts;
  seen.start = event;
  changed_.notify_all();
}

void transcript::add(const actors::tokens& event) {
  const std::lock_guard lock{mutex_};
  auto& seen = outcomes_[event.id];
  seen.misplaced += seen.terminals + (seen.starts == 1 ? 0 : 1);
  auto& choice = seen.choices[event.choice];
  seen.misplaced += choice.finish_reason.empty() ? 0 : 1;
  choice.text += event.text;
  choice.emitted.insert(choice.emitted.end(), event.emitted.begin(),
                        event.emitted.end());
  choice.prompt.insert(choice.prompt.end(), event.prompt.begin(),
                       event.prompt.end());
  choice.finish_reason = event.finish_reason;
  choice.stop_reason = event.stop_reason;
  choice.stop_token = event.stop_token;
  choice.speculation = event.speculation;
  changed_.notify_all();
}

void transcript::add(const actors::finished& event) {
  const std::lock_guard lock{mutex_};
  auto& seen = outcomes_[event.id];
  seen.misplaced += seen.terminals;
  ++seen.terminals;
  seen.end = event;
  ++ends_;
  changed_.notify_all();
}

void transcript::add(const actors::failed& event) {
  const std::lock_guard lock{mutex_};
  auto& seen = outcomes_[event.id];
  seen.misplaced += seen.terminals;
  ++seen.terminals;
  seen.failed = true;
  seen.error = event;
  ++ends_;
  changed_.notify_all();
}

template <class Condition>
bool transcript::wait_until(Condition condition) const {
  std::unique_lock lock{mutex_};
  return changed_.wait_for(lock, std::chrono::seconds{60}, condition);
}

bool transcript::wait_for_ends(std::size_t count) const {
  return wait_until([&] { return ends_ >= count; });
}

outcome transcript::wait(const std::string& id) const {
  wait_until([&] {
    const auto found = outcomes_.find(id);
    return found != outcomes_.end() && found->second.terminals > 0;
  });
  const std::lock_guard lock{mutex_};
  const auto found = outcomes_.find(id);
  return found == outcomes_.end() ? outcome{} : found->second;
}

bool transcript::wait_for_tokens(const std::string& id,
                                 std::size_t count) const {
  return wait_until([&] {
    const auto found = outcomes_.find(id);
    if (found == outcomes_.end()) {
      return false;
    }
    std::size_t tokens = 0;
    for (const auto& [index, choice] : found->second.choices) {
      tokens += choice.emitted.size();
    }
    return tokens >= count || found->second.terminals > 0;
  });
}

std::map<std::string, outcome> transcript::all() const {
  const std::lock_guard lock{mutex_};
  return outcomes_;
}

actors::client_actor spawn_client(caf::actor_system& system,
                                  std::shared_ptr<transcript> into) {
  return system.spawn(
      [](actors::client_actor::pointer,
         const std::shared_ptr<transcript>& events)
          -> actors::client_actor::behavior_type {
        return {
            [events](const actors::started& event) { events->add(event); },
            [events](const actors::tokens& event) { events->add(event); },
            [events](const actors::finished& event) { events->add(event); },
            [events](const actors::failed& event) { events->add(event); },
        };
      },
      std::move(into));
}

actors::generation_request text_request(const std::string& id,
                                        const std::string& text,
                                        std::int64_t max_tokens) {
  actors::generation_request request;
  request.id = id;
  request.text = text;
  request.max_tokens = max_tokens;
  request.sampling.temperature = 0;
  request.sampling.ignore_eos = true;
  return request;
}

}  // namespace vouch::test
