#pragma once

#include <cstdint>
#include <span>
#include <stdexcept>

#include "engine/sampling/sampling_params.hpp"
#include "engine/types.hpp"

namespace vouch::engine {

/// What a pick depends on beside the logits row and the parameters.
struct pick_context {
  /// The prompt's and the generated tokens up to and including the row's input.
  std::span<const token_id> history;
  /// How many of them are the prompt's.
  std::int64_t prompt_tokens = 0;
  /// Absolute position of the row: history.size() - 1.
  std::int64_t position = 0;
};

/// The row cannot be picked from: it holds a NaN, or nothing is allowed.
class pick_error : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// Picks the token that follows `context` from `logits` (one row, vocab_size
/// floats). Pure: the same arguments give the same token, in any step, batch
/// or process.
///
/// In this order:
///  1. log-probabilities, of the raw row (float32 log-softmax);
///  2. logit bias, added;
///  3. repetition penalty (prompt and generated), presence and frequency
///     penalties (generated only);
///  4. minus infinity on the model's end-of-generation set with ignore_eos, and
///     on that set and the request's own stop tokens below min_tokens; ids from
///     vocab_limit on are out too;
///  5. (a later issue: grammar mask)
///  6. temperature 0: the largest value, the lowest id on ties. Otherwise:
///  7. divide by the temperature; candidates ordered by (value descending, id
///     ascending);
///  8. top-k, then top-p, then min-p cut them;
///  9. Gumbel noise, keyed by (seed, choice, position) and counted by token
///     id, is added; the largest wins, the lowest id on ties.
/// Throws pick_error.
picked_token pick(std::span<const float> logits, const sampling_params& params,
                  const pick_context& context);

/// The log-probability of `token` under the raw row, with the `top` likeliest.
picked_token score(std::span<const float> logits, token_id token, int top);

}  // namespace vouch::engine
