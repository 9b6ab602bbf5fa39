#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "actors/messages.hpp"
#include "http/answer.hpp"
#include "runtime/runtime.hpp"

namespace vouch::http {

/// Takes a generation's events, from any thread, in order. Must not block.
using event_sink = std::function<void(generation_event)>;

/// A running generation; destroying it cancels what has not ended.
class generation {
 public:
  virtual ~generation() = default;
};

/// What the HTTP layer asks of the model side. The server runs on a
/// runtime::runtime; tests put scripted ones in its place. Everything may be
/// called from any thread.
class backend {
 public:
  virtual ~backend() = default;

  virtual runtime::state state() const = 0;
  /// False once it has failed, and while a step hangs.
  virtual bool healthy() const = 0;
  virtual double load_share() const = 0;
  /// nullptr until ready.
  virtual std::shared_ptr<const runtime::model_info> model() const = 0;

  /// Requests that may wait at once: more in one job can never be taken.
  virtual std::int32_t max_queued_requests() const = 0;

  /// Starts all of a job's requests; their events go to `sink`.
  virtual std::unique_ptr<generation> submit(
      std::vector<actors::generation_request> requests, event_sink sink) = 0;

  virtual std::vector<engine::token_id> tokenize(
      const tokenize_job& job) const = 0;
  virtual std::string detokenize(const std::vector<engine::token_id>& tokens,
                                 bool skip_special_tokens) const = 0;
  virtual std::string token_bytes(engine::token_id token) const = 0;
  virtual std::string apply_template(const template_job& job) const = 0;
  virtual std::string metrics() const = 0;
  /// How speculation and its gate stand.
  virtual actors::speculation_view speculation() const = 0;
};

/// The backend over a runtime. Both must outlive it.
std::unique_ptr<backend> make_runtime_backend(caf::actor_system& system,
                                              runtime::runtime& model);

}  // namespace vouch::http
