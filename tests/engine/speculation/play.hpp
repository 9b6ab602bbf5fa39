#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "engine/speculation/drafter.hpp"
#include "engine/speculation/round.hpp"
#include "tests/engine/speculation/fake_target.hpp"

namespace vouch::engine::testing {

/// One round as it was played.
struct played_round {
  std::int64_t cache_before = 0;
  std::vector<token_id> input;
  std::vector<token_id> picks;
  round_outcome outcome;
};

/// A request served in rounds.
struct played_run {
  std::vector<token_id> emitted;
  std::int64_t cached = 0;
  round_end end = round_end::none;
  std::vector<played_round> rounds;

  int accepted() const {
    int sum = 0;
    for (const auto& each : rounds) sum += each.outcome.accepted_emitted;
    return sum;
  }
};

/// Serves a request with a drafter, as a server's loop would.
inline played_run play(const fake_target& target, const fake_request& request,
                       const drafter& drafts, const width_set& vouched,
                       int width) {
  played_run run;
  auto state = drafts.open();
  auto history = request.prompt;
  run.cached = static_cast<std::int64_t>(history.size()) - 1;
  // Shared, so that what settle_round tells its copy is not forgotten.
  const auto matcher =
      std::make_shared<std::function<bool(token_id)>>(request.matcher());
  while (run.end == round_end::none) {
    const auto to_emit = request.budget - std::ssize(run.emitted);
    const auto context_left = request.context - run.cached;
    const int most = round_width({width, to_emit, context_left}, vouched);
    const auto proposal = state->propose(history, most);
    played_round each;
    each.cache_before = run.cached;
    each.input = verify_input(history.back(), proposal.tokens, most,
                              {target.vocabulary, {}}, vouched);
    each.picks = target.verify(history, each.input);
    emission_rules rules{request.stop_tokens, to_emit, context_left, {}};
    if (*matcher) {
      rules.completes_stop_string = [&matcher](token_id token) {
        return (*matcher)(token);
      };
    }
    each.outcome = settle_round(each.input, each.picks, rules);
    state->observe(each.outcome);
    const auto& emitted = each.outcome.emitted;
    run.emitted.insert(run.emitted.end(), emitted.begin(), emitted.end());
    history.insert(history.end(), emitted.begin(), emitted.end());
    run.cached += each.outcome.kept_rows;
    run.end = each.outcome.end;
    run.rounds.push_back(std::move(each));
  }
  return run;
}

}  // namespace vouch::engine::testing
