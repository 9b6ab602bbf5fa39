#include <mutex>
#include <utility>

#include "http/backend.hpp"
#include "http/server.hpp"

namespace vouch::http {

namespace {

// The client of one job's requests: an event-driven actor that hands each
// event to the session's strand. It ends with its last terminal event, or when
// the session lets go of it; its death then cancels the requests.
struct relay_state {
  event_sink sink;
  std::size_t running = 0;
};

using relay_actor = actors::client_actor::stateful_pointer<relay_state>;

actors::client_actor::behavior_type relay(relay_actor self, event_sink sink,
                                          std::size_t requests) {
  self->state.sink = std::move(sink);
  self->state.running = requests;
  const auto ended = [self] {
    if (--self->state.running == 0) self->quit();
  };
  return {
      [self](actors::started& event) { self->state.sink(std::move(event)); },
      [self](actors::tokens& event) { self->state.sink(std::move(event)); },
      [self, ended](actors::finished& event) {
        self->state.sink(std::move(event));
        ended();
      },
      [self, ended](actors::failed& event) {
        self->state.sink(std::move(event));
        ended();
      },
  };
}

class relayed_generation : public generation {
 public:
  explicit relayed_generation(actors::client_actor client)
      : client_{std::move(client)} {}
  ~relayed_generation() override {
    caf::anon_send_exit(client_, caf::exit_reason::user_shutdown);
  }

 private:
  actors::client_actor client_;
};

class runtime_backend : public backend {
 public:
  runtime_backend(caf::actor_system& system, runtime::runtime& model)
      : system_{system}, runtime_{model} {}

  runtime::state state() const override { return runtime_.current_state(); }
  bool healthy() const override { return runtime_.healthy(); }
  double load_share() const override { return runtime_.load_share(); }

  std::shared_ptr<const runtime::model_info> model() const override {
    const std::lock_guard lock{mutex_};
    if (!model_) {
      if (auto info = runtime_.model()) {
        model_ = std::make_shared<const runtime::model_info>(*std::move(info));
      }
    }
    return model_;
  }

  std::int32_t max_queued_requests() const override {
    return runtime_.current_policy().limits.max_queued_requests;
  }

  std::unique_ptr<generation> submit(
      std::vector<actors::generation_request> requests,
      event_sink sink) override {
    auto client = system_.spawn(relay, std::move(sink), requests.size());
    for (auto& request : requests) runtime_.submit(std::move(request), client);
    return std::make_unique<relayed_generation>(std::move(client));
  }

  std::vector<engine::token_id> tokenize(
      const tokenize_job& job) const override {
    engine::encode_options options;
    options.add_special_tokens = job.add_special_tokens;
    options.parse_special = job.parse_special;
    return runtime_.tokenize(job.text, options);
  }
  std::string detokenize(const std::vector<engine::token_id>& tokens,
                         bool skip_special_tokens) const override {
    return runtime_.detokenize(tokens, skip_special_tokens);
  }
  std::string token_bytes(engine::token_id token) const override {
    return runtime_.token_bytes(token);
  }
  std::string apply_template(const template_job& job) const override {
    return runtime_.apply_template(job.messages, job.tools, job.variables,
                                   job.add_generation_prompt);
  }
  std::string metrics() const override { return runtime_.metrics(); }

 private:
  caf::actor_system& system_;
  runtime::runtime& runtime_;
  mutable std::mutex mutex_;
  mutable std::shared_ptr<const runtime::model_info> model_;
};

}  // namespace

std::unique_ptr<backend> make_runtime_backend(caf::actor_system& system,
                                              runtime::runtime& model) {
  return std::make_unique<runtime_backend>(system, model);
}

// Here and not in server.cpp, so that a server over another backend links
// without the runtime.
server::server(caf::actor_system& system, runtime::runtime& model,
               const runtime::config& settings)
    : server{make_runtime_backend(system, model), settings} {}

}  // namespace vouch::http
