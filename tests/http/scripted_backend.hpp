#pragma once

#include <atomic>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "http/backend.hpp"

namespace vouch::test {

/// One generation that a test plays by hand.
struct scripted_generation {
  std::vector<actors::generation_request> requests;
  http::event_sink sink;
  std::atomic<bool> let_go{false};

  void start();
  void text(const std::string& piece, const std::string& finish = {},
            std::optional<engine::speculation_report> report = {});
  void finish();
  void fail(actors::failure kind, const std::string& message);
};

/// A backend without a model: what was submitted waits for the test.
class scripted_backend : public http::backend {
 public:
  scripted_backend();

  std::atomic<runtime::state> now{runtime::state::ready};
  std::shared_ptr<runtime::model_info> info;
  std::atomic<std::int32_t> queue_places{1024};
  /// The thread that asked for the model last: who checks a request's body.
  mutable std::atomic<std::thread::id> checked_on;

  runtime::state state() const override { return now; }
  bool healthy() const override { return now != runtime::state::failed; }
  double load_share() const override { return 0.5; }
  std::shared_ptr<const runtime::model_info> model() const override;
  std::int32_t max_queued_requests() const override { return queue_places; }
  std::unique_ptr<http::generation> submit(
      std::vector<actors::generation_request> requests,
      http::event_sink sink) override;
  std::vector<engine::token_id> tokenize(
      const http::tokenize_job& job) const override;
  std::string detokenize(const std::vector<engine::token_id>& tokens,
                         bool) const override;
  std::string token_bytes(engine::token_id token) const override;
  std::string apply_template(const http::template_job& job) const override;
  std::string metrics() const override { return "vouch_up 1\n"; }
  actors::speculation_view speculation() const override;

  /// Waits for the generation with this number (from 0).
  std::shared_ptr<scripted_generation> wait_for(std::size_t number);
  std::size_t submitted() const;
  void set_speculation(actors::speculation_view now);

 private:
  mutable std::mutex mutex_;
  actors::speculation_view view_;
  std::condition_variable more_;
  std::vector<std::shared_ptr<scripted_generation>> all_;
};

}  // namespace vouch::test
