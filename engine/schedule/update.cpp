// What a step's result means for its sequences.
#include <algorithm>
#include <stdexcept>
#include <string>
#include <utility>

#include "engine/schedule/state.hpp"

namespace vouch::engine {
namespace {

void fail(sequence_update& u, std::string why) {
  u.finished = true;
  u.reason = finish_reason::failed;
  u.error = std::move(why);
}

void finish(sequence_update& u, finish_reason reason) {
  u.finished = true;
  u.reason = reason;
}

bool is_stop(const sampling_params& p, token_id token) {
  const auto holds = [token](const std::vector<token_id>& tokens) {
    return std::find(tokens.begin(), tokens.end(), token) != tokens.end();
  };
  return holds(p.request_stop_tokens) ||
         (!p.ignore_eos && holds(p.stop_tokens));
}

}  // namespace

std::vector<sequence_update> scheduler::impl::update(
    const step_result& result) {
  if (flights.empty() || flights.front().id != result.id) {
    throw std::logic_error{"scheduler: step " + std::to_string(result.id) +
                           " is not the oldest in flight"};
  }
  const flight f = std::move(flights.front());
  flights.pop_front();
  completed = f.id;

  std::string broken = result.error;
  if (broken.empty() && result.items.size() != f.items.size()) {
    broken = "the step's result has another number of items";
  }
  std::vector<sequence_update> updates;
  for (std::size_t i = 0; i < f.items.size(); ++i) {
    const expected_item& expected = f.items[i];
    const auto it = all.find(expected.id);
    // It ended or was preempted meanwhile: the row was computed in vain.
    if (it == all.end() || it->second->epoch != expected.epoch) continue;
    sequence& s = *it->second;
    sequence_update u;
    u.id = s.id;
    u.cached_tokens = s.cached_tokens;
    if (!broken.empty()) {
      fail(u, broken);
    } else if (!result.items[i].error.empty()) {
      fail(u, result.items[i].error);
    } else {
      take_item(s, expected, result.items[i], u);
    }
    if (u.finished) {
      // Rows of a failed sequence serve nobody else.
      erase(s, u.reason != finish_reason::failed);
    } else {
      register_blocks(s);
    }
    if (u.finished || !u.tokens.empty() || !u.prompt_logprobs.empty()) {
      updates.push_back(std::move(u));
    }
  }
  release_graves();
  return updates;
}

void scheduler::impl::take_item(sequence& s, const expected_item& expected,
                                const step_item_result& item,
                                sequence_update& u) {
  const auto scores = static_cast<std::size_t>(expected.scores);
  if (item.slot != expected.slot || item.prompt_logprobs.size() != scores ||
      item.picks.size() != (expected.pick ? 1U : 0U)) {
    fail(u, "the step's result does not fit its plan");
    return;
  }
  s.computed = expected.end;
  s.prompt_scores.insert(s.prompt_scores.end(), item.prompt_logprobs.begin(),
                         item.prompt_logprobs.end());
  if (!expected.pick) return;
  --s.outstanding;
  if (!s.prompt_done) {
    s.prompt_done = true;
    u.admitted_ms = s.admitted_ms;
    if (!s.follows) {
      counters.prompt_tokens += static_cast<std::uint64_t>(s.prompt_tokens);
    }
    u.prompt_logprobs = std::exchange(s.prompt_scores, {});
  }
  emit(s, item.picks.front(), u);
}

void scheduler::impl::emit(sequence& s, const picked_token& pick,
                           sequence_update& u) {
  if (s.max_tokens == 0) {
    finish(u, finish_reason::length);
    return;
  }
  if (pick.token < 0) {
    fail(u, "the step picked no token");
    return;
  }
  if (is_stop(s.sampling, pick.token)) {
    u.stop_token = pick.token;
    finish(u, finish_reason::stop);
    return;
  }
  s.tokens.push_back(pick.token);
  u.tokens.push_back(pick);
  ++counters.generation_tokens;
  if (rules.order.by == order_by::fair) shares.charge(s.tenant, 1);
  if (s.stops.active() && token_bytes) {
    if (const auto match = s.stops.push(token_bytes(pick.token))) {
      u.stop_string = static_cast<std::int32_t>(match->index);
      finish(u, finish_reason::stop);
      return;
    }
  }
  if (s.generated() >= s.max_tokens) finish(u, finish_reason::length);
}

}  // namespace vouch::engine
