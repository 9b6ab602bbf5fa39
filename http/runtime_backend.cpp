#include <mutex>
#include <type_traits>
#include <utility>

#include <caf/actor_companion.hpp>

#include "http/backend.hpp"
#include "http/server.hpp"

namespace vouch::http {

namespace {

// The client of one job's requests: a companion, which has no mailbox and takes
// no turn in the pool. Each event goes to the sink in the thread that sends it.
void hand_over(const event_sink& sink, caf::mailbox_element& element) {
  auto& content = element.content();
  const auto take = [&](auto* of) {
    using event = std::remove_pointer_t<decltype(of)>;
    if (!content.match_elements<event>()) return false;
    // Sent to this one client only: nobody else reads it.
    sink(std::move(content.get_mutable_as<event>(0)));
    return true;
  };
  static_cast<void>(take(static_cast<actors::tokens*>(nullptr)) ||
                    take(static_cast<actors::started*>(nullptr)) ||
                    take(static_cast<actors::finished*>(nullptr)) ||
                    take(static_cast<actors::failed*>(nullptr)));
}

// Its end is the client's death, which cancels what has not ended.
class relayed_generation : public generation {
 public:
  relayed_generation(caf::actor_system& system, event_sink sink)
      : client_{system.spawn<caf::actor_companion>()} {
    companion().on_enqueue(
        [sink = std::move(sink)](caf::mailbox_element_ptr element) {
          hand_over(sink, *element);
        });
  }
  ~relayed_generation() override {
    // What actor_companion::disconnect would do: CAF 0.17 declares it only.
    companion().on_enqueue({});
    companion().cleanup(caf::make_error(caf::exit_reason::user_shutdown),
                        nullptr);
  }

  actors::client_actor client() const {
    return caf::actor_cast<actors::client_actor>(
        caf::actor_cast<caf::strong_actor_ptr>(client_));
  }

 private:
  caf::actor_companion& companion() const {
    return *caf::actor_cast<caf::actor_companion*>(client_);
  }

  caf::actor client_;
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
    auto running =
        std::make_unique<relayed_generation>(system_, std::move(sink));
    for (auto& request : requests)
      runtime_.submit(std::move(request), running->client());
    return running;
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
  actors::speculation_view speculation() const override {
    return runtime_.speculation();
  }

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
