#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

#include "actors/messages.hpp"
#include "runtime/config.hpp"
#include "runtime/runtime.hpp"

namespace vouch::http {

/// What checking a request depends on.
struct schema_context {
  const runtime::config& settings;
  const runtime::model_info& model;
  /// Requests that may wait at once, by the policy in use.
  std::int32_t max_queued_requests = settings.policy.limits.max_queued_requests;
};

/// The two shapes of generation.
enum class generation_kind : std::uint8_t { chat, completion };

/// A checked request: what to generate, and how to answer.
struct generation_job {
  generation_kind kind = generation_kind::chat;
  /// One per prompt; ids are set by assign_ids.
  std::vector<actors::generation_request> requests;
  /// Choices per prompt.
  std::int32_t n = 1;
  bool stream = false;
  bool include_usage = false;
  /// Log-probabilities are part of the answer.
  bool logprobs = false;
  /// The prompt's log-probabilities are part of the answer.
  bool prompt_logprobs = false;
  /// How many of the likeliest tokens stand with each token of the prompt in
  /// `logprobs` and in `prompt_logprobs`: the engine is asked for the larger.
  std::size_t echo_top = std::numeric_limits<std::size_t>::max();
  std::size_t prompt_top = std::numeric_limits<std::size_t>::max();
  bool echo = false;
};

/// Bounds that no configuration key moves.
inline constexpr std::size_t max_prompts = 256;
inline constexpr std::size_t max_messages = 4096;
inline constexpr std::size_t max_stop_bytes = 1024;
inline constexpr std::size_t max_stop_token_ids = 256;
inline constexpr std::size_t max_user_bytes = 256;
/// What /v1/completions generates when the request does not say (OpenAI's
/// number).
inline constexpr std::int64_t default_completion_tokens = 16;

/// Checks the body of POST /v1/chat/completions: every field's type and range,
/// before any work. Throws api_error.
generation_job parse_chat(std::string_view body, const schema_context& context);

/// The same for POST /v1/completions.
generation_job parse_completion(std::string_view body,
                                const schema_context& context);

/// What POST /tokenize asks for.
struct tokenize_job {
  std::string text;
  bool add_special_tokens = true;
  /// Special tokens spelled out in the text are those tokens.
  bool parse_special = true;
  bool with_pieces = false;
};
tokenize_job parse_tokenize(std::string_view body,
                            const schema_context& context);

/// What POST /detokenize asks for.
struct detokenize_job {
  std::vector<engine::token_id> tokens;
  bool skip_special_tokens = false;
};
detokenize_job parse_detokenize(std::string_view body,
                                const schema_context& context);

/// What POST /apply-template asks for.
struct template_job {
  std::string messages;
  std::string tools;
  std::string variables;
  bool add_generation_prompt = true;
};
template_job parse_template(std::string_view body,
                            const schema_context& context);

}  // namespace vouch::http
