#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <caf/all.hpp>

#include "actors/board.hpp"
#include "actors/components.hpp"
#include "actors/interfaces.hpp"
#include "actors/messages.hpp"
#include "engine/checkpoint/checkpoint.hpp"
#include "engine/tokenizer/tokenizer.hpp"
#include "runtime/config.hpp"

namespace vouch::runtime {

/// The model that is served, for /v1/models and for prompts' checks.
struct model_info {
  std::string name;
  std::string path;
  std::int64_t vocab_size = 0;
  /// The executor's; filled in by the runtime.
  std::int64_t max_context = 0;
  bool has_chat_template = false;
  /// Build, kernel plan and model hash: `system_fingerprint`.
  std::string fingerprint;
  engine::generation_defaults defaults;
  std::int64_t created = 0;
};

/// Where the runtime is in its life: loading, ready, draining, stopped, failed.
using state = actors::life;

/// A model that needs no loading: what tests and embedders with a device of
/// their own serve.
struct components {
  actors::components parts;
  model_info info;
};

/// The embedding surface: a language model behind typed actors, in a
/// caf::actor_system that the caller owns and that outlives it. Everything is
/// safe to call from any thread.
class runtime {
 public:
  /// Starts loading in the background; state() tells when it is ready. The
  /// system must have been made with vouch::runtime::configure (message types,
  /// scheduler policy).
  runtime(caf::actor_system& system, config settings);
  /// Serves `served` instead of loading settings.model.
  runtime(caf::actor_system& system, config settings, components served);
  /// Shuts down in order: requests are failed as cancelled, actors exit.
  ~runtime();
  runtime(const runtime&) = delete;
  runtime& operator=(const runtime&) = delete;

  /// Where it is in its life; may have changed when the caller looks at it.
  state current_state() const;
  /// Share of the load that is done, in [0, 1].
  double load_share() const;
  /// False once the runtime has failed, and while a step runs far longer than
  /// it should (20 times the usual, at least 60 seconds).
  bool healthy() const;
  /// Blocks until ready or failed; rethrows what the load threw
  /// (engine::input_error for a bad file), and throws std::runtime_error when
  /// it was stopped, or drained before the model was loaded: model() has a
  /// value when it returns.
  void wait_until_ready();

  /// Empty until ready.
  std::optional<model_info> model() const;

  /// Starts a request. Its events go to `client`, which receives exactly one
  /// terminal event (finished or failed), also while loading or draining. The
  /// client's death cancels.
  void submit(actors::generation_request request, actors::client_actor client);
  /// Cancels by id; the client receives failed{cancelled} unless it was done.
  void cancel(const std::string& request_id);

  /// Refuses new requests, lets running ones finish until `deadline`, then
  /// cancels the rest. Returns true when all finished by themselves.
  bool drain(std::chrono::milliseconds deadline);

  /// Replaces the policy between steps (SIGHUP), as a whole or not at all:
  /// throws engine::input_error for a file that is wrong, or that asks for more
  /// than the executor was started with (max_running, step_tokens).
  void reload_policy(const std::string& file);
  /// The same with a policy that is there already; `origins` (where each key
  /// stands, from engine::load_policy) is for the error's text.
  void set_policy(engine::policy rules,
                  const std::map<std::string, std::string>& origins = {});

  /// The policy in use, or the one that was set last.
  engine::policy current_policy() const;

  // Text services: all throw std::logic_error before the model is loaded.

  /// The tokens of a text.
  std::vector<engine::token_id> tokenize(std::string_view text,
                                         const engine::encode_options&) const;
  /// The text of tokens as UTF-8, bytes that are none replaced by U+FFFD.
  std::string detokenize(const std::vector<engine::token_id>& tokens,
                         bool skip_special_tokens) const;
  /// The token as the vocabulary spells it, for people to look at.
  std::string token_text(engine::token_id token) const;
  /// The bytes a token stands for (a character may span several tokens).
  std::string token_bytes(engine::token_id token) const;
  /// The prompt of a conversation, given as JSON texts. Throws
  /// engine::template_error, also when the model has no template.
  std::string apply_template(const std::string& messages,
                             const std::string& tools,
                             const std::string& variables,
                             bool add_generation_prompt) const;

  /// How speculation and its gate stand: what GET /speculation shows.
  actors::speculation_view speculation() const;

  /// Prometheus text exposition.
  std::string metrics() const;
  /// The counters themselves.
  engine::scheduler_stats stats() const;

 private:
  struct impl;
  std::unique_ptr<impl> impl_;
};

/// Prepares the config of the embedder's actor system, before the system is
/// made: registers the message types, and sets two scheduler keys for the whole
/// system, the embedder's own actors included: `scheduler.policy` to "sharing"
/// and `scheduler.max-threads` to the number of cores, at most 4. What the
/// caller sets after this call holds.
void configure(caf::actor_system_config& system_config);

}  // namespace vouch::runtime
