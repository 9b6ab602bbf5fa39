#pragma once

#include <cstdint>
#include <stdexcept>
#include <string>
#include <vector>

#include "actors/components.hpp"
#include "actors/messages.hpp"

namespace vouch::actors {

/// A request that cannot be served as it is; becomes a `failed` event.
class request_error : public std::runtime_error {
 public:
  request_error(failure kind, std::string param, const std::string& message)
      : std::runtime_error(message), kind_(kind), param_(std::move(param)) {}
  failure kind() const { return kind_; }
  const std::string& param() const { return param_; }

 private:
  failure kind_;
  std::string param_;
};

/// A request turned into what SCHEDULER and the choices need.
struct prepared_request {
  std::vector<engine::token_id> prompt;
  /// The prompt's text, for echo.
  std::string prompt_text;
  /// With the union of stop tokens; the choice index is still 0.
  engine::sampling_params sampling;
  /// Cut to what the context leaves.
  std::int64_t max_tokens = 0;
  /// Top alternatives a client asked for: emitted tokens and prompt tokens.
  /// The executor computes the larger of the two for both. -1: none.
  int logprobs = -1;
  int prompt_logprobs = -1;

  /// Nothing needs to be computed: max_tokens is 0 and no log-probability of
  /// the prompt is wanted.
  bool text_only() const { return max_tokens == 0 && prompt_logprobs < 0; }
};

/// Checks, renders and tokenises. Pure but for the clock that a template may
/// read. Throws request_error whose param is the request's field.
prepared_request prepare(const generation_request& request,
                         const serving& model);

/// The sequences of all choices, ready for SCHEDULER.
submission make_submission(const generation_request& request,
                           const prepared_request& prepared);

/// How a rejection reads to a client. `prompt_tokens` is 0 before tokenising.
failed describe(engine::rejection verdict, const std::string& id,
                std::int64_t prompt_tokens, const serving& model);

}  // namespace vouch::actors
