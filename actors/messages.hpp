#pragma once

#include <cstdint>
#include <exception>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <caf/all.hpp>

#include "engine/executor/cost_model.hpp"
#include "engine/sampling/sampling_params.hpp"
#include "engine/schedule/scheduler.hpp"
#include "engine/speculation/report.hpp"

namespace vouch::actors {

/// How a request's prompt is given.
enum class prompt_kind : std::uint8_t { text, tokens, chat };

/// One prompt to generate from, with `n` choices. What a client sends.
struct generation_request {
  /// Chosen by the client side; names the request in events, logs and errors.
  std::string id;

  prompt_kind kind = prompt_kind::text;
  /// kind text.
  std::string text;
  /// kind tokens.
  std::vector<engine::token_id> tokens;
  /// kind chat: JSON as it came, so that key order survives.
  std::string messages;
  std::string tools;
  std::string template_variables;
  bool add_generation_prompt = true;
  /// kind text: add what the tokenizer's post-processor adds.
  bool add_special_tokens = true;
  /// kind chat: special tokens spelled out in user text are recognised as
  /// such. Without it they are recognised only in what the template itself
  /// wrote. A prompt of kind text is the whole prompt and its author plays the
  /// template's part: special tokens in it are always recognised.
  bool trust_special_tokens = false;

  /// Seed, logprobs and so on; REQUEST fills `stop_tokens` with the model's
  /// and `request_stop_tokens` with `stop_token_ids`.
  engine::sampling_params sampling;
  /// A seed was given; otherwise one is drawn and reported in `started`.
  bool has_seed = false;
  std::int32_t n = 1;
  /// -1: what the context leaves.
  std::int64_t max_tokens = -1;
  std::vector<std::string> stop;
  std::vector<engine::token_id> stop_token_ids;
  bool include_stop_string = false;
  bool skip_special_tokens = true;
  /// The prompt's text (and log-probabilities, if asked for) comes first.
  bool echo = false;
  /// -1 none, 0 the prompt tokens' own log-probabilities, n with the n
  /// likeliest.
  std::int32_t prompt_logprobs = -1;

  std::int32_t priority = 0;
  std::string tenant;

  struct {
    /// False: no bursts for this request (decline request_opt_out). Its text
    /// is the same.
    bool enabled = true;
    /// The client wants to be told what speculation did; the events say it
    /// anyway.
    bool report = false;
  } speculation;
};

/// The request was admitted and its prompt tokenised: the moment for a 200.
struct started {
  std::string id;
  std::int64_t prompt_tokens = 0;
  std::uint64_t seed = 0;
  std::int64_t max_tokens = 0;
};

/// One token as a client sees it.
struct token_info {
  engine::token_id token = -1;
  /// The token's bytes (a character may span several tokens).
  std::string bytes;
  float logprob = 0.0F;
  std::vector<engine::token_logprob> top;
};

/// Progress of one choice. Deltas concatenate to the final text.
struct tokens {
  std::string id;
  std::int32_t choice = 0;
  /// Text that became certain, valid UTF-8; may be empty.
  std::string text;
  /// The tokens behind it (all emitted tokens, also when text is held back).
  std::vector<token_info> emitted;
  /// With echo or prompt_logprobs, once, before the first emitted token: the
  /// prompt's tokens. The first has no log-probability (NaN).
  std::vector<token_info> prompt;
  /// Not empty on the choice's last event: "stop" or "length".
  std::string finish_reason;
  /// The stop string that ended it; else empty.
  std::string stop_reason;
  /// The one of the request's stop_token_ids that ended it; else -1, also for
  /// the model's own end of turn.
  engine::token_id stop_token = -1;
  /// On the choice's last event, where anything speculates or vouches: what was
  /// done for this choice.
  std::optional<engine::speculation_report> speculation;
};

/// All choices ended. Terminal.
struct finished {
  std::string id;
  std::int64_t prompt_tokens = 0;
  std::int64_t completion_tokens = 0;
  std::int64_t cached_tokens = 0;
  /// Drafts of all choices, in rounds: those that were emitted, and the rest.
  std::int64_t accepted_drafts = 0;
  std::int64_t rejected_drafts = 0;
};

/// Why a request failed; what an HTTP status is derived from.
enum class failure : std::uint8_t {
  /// 400: the request itself.
  invalid,
  /// 400, code context_length_exceeded.
  context_length,
  /// 503: a queue limit.
  queue_full,
  /// 503: loading or draining.
  unavailable,
  /// 504: queue_timeout or request_timeout.
  timeout,
  /// 500.
  internal,
  /// Cancelled by its client or by shutdown.
  cancelled,
};

/// The request ended without a result. Terminal.
struct failed {
  std::string id;
  failure kind = failure::internal;
  std::string message;
  /// The request field at fault, or empty.
  std::string param;
};

// Inside: what the actors tell each other. Local only, never published.

/// REQUEST to SCHEDULER: the choices of one prompt. Ids and siblings are
/// SCHEDULER's to give: choice i becomes sequence admission::first + i.
struct submission {
  /// The request's id, for the transcript.
  std::string request;
  std::vector<engine::sequence_start> choices;
};

/// SCHEDULER's answer to a reservation or a submission.
struct admission {
  engine::rejection verdict = engine::rejection::none;
  engine::sequence_id first = 0;
};

/// SCHEDULER to REQUEST: what one step meant for its choices.
struct progress {
  std::vector<engine::sequence_update> updates;
  /// The updates are not a step's: queue_timeout or request_timeout passed.
  bool expired = false;
};

/// SUPERVISOR to SCHEDULER: rules to use from the next plan on.
struct policy_change {
  engine::policy rules;
};

/// What a model brings to be served.
struct components;

/// LOADER to SUPERVISOR: how the load ended.
struct load_result {
  std::shared_ptr<components> parts;
  std::shared_ptr<engine::executor> device;
  /// Empty where they were not measured.
  engine::step_cost_model costs;
  /// Set when it failed.
  std::exception_ptr error;
};

}  // namespace vouch::actors

// None of these crosses a process border: they are passed on as they are.
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(vouch::actors::generation_request)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(vouch::actors::started)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(vouch::actors::tokens)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(vouch::actors::finished)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(vouch::actors::failed)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(vouch::actors::submission)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(vouch::actors::admission)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(vouch::actors::progress)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(vouch::actors::policy_change)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(vouch::actors::load_result)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(vouch::engine::scheduler::planned_step)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(vouch::engine::step_result)
