#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "engine/executor/executor.hpp"
#include "engine/sampling/sampling_params.hpp"

namespace vouch::test {

/// What a fake model picks after `prefix` (all tokens up to the row's input).
/// Must be pure: the row contract holds for fakes too.
using pick_function = std::function<engine::token_id(
    std::span<const engine::token_id> prefix, const engine::sampling_params&)>;

/// A token of [0, vocab) from a hash of the prefix; with a temperature also of
/// seed and choice. Never a stop token where min_tokens or ignore_eos forbid
/// it.
pick_function hash_picks(engine::token_id vocab);

/// Always goes on with `text`'s tokens, whatever the prompt was (the place is
/// counted from `prompt_tokens`); after the end, `last` for ever.
pick_function script(std::vector<engine::token_id> tokens,
                     std::int64_t prompt_tokens, engine::token_id last);

struct fake_executor_options {
  engine::executor_limits limits{512, 64, 512, 2048};
  pick_function pick = hash_picks(256);
  /// How long a step takes.
  std::chrono::microseconds delay{0};
  /// Complete a step inside submit, on the caller's thread: for deterministic
  /// tests.
  bool inline_steps = false;
  /// A slot that is not open may be released, as on a device: the gate closes
  /// all slots that it was lent.
  bool closes_closed_slots = false;
  /// Called with each step before it runs, on the executor's thread. May throw:
  /// then the step fails with what() as its error.
  std::function<void(const engine::step&)> observe;
};

/// An executor without a model. Its KV pool holds token ids, and a row's prefix
/// is read back from the blocks it names: a wrong block table, a missed copy or
/// a stale block changes the picks, as it would with a real model.
std::shared_ptr<engine::executor> make_fake_executor(
    fake_executor_options options = {});

}  // namespace vouch::test
