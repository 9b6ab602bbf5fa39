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
      const auto kept = take_item(s, expected, result.items[i], u);
      if (expected.audited && kept > 0) {
        record_audit(s, expected, result.items[i], kept, f.work);
      }
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

std::int64_t scheduler::impl::take_item(sequence& s,
                                        const expected_item& expected,
                                        const step_item_result& item,
                                        sequence_update& u) {
  const auto scores = static_cast<std::size_t>(expected.scores);
  const auto picks = static_cast<std::size_t>(expected.picks);
  if (item.slot != expected.slot || item.prompt_logprobs.size() != scores ||
      item.picks.size() != picks) {
    fail(u, "the step's result does not fit its plan");
    return 0;
  }
  s.prompt_scores.insert(s.prompt_scores.end(), item.prompt_logprobs.begin(),
                         item.prompt_logprobs.end());
  if (picks == 0) {
    s.computed = expected.end;
    return expected.rows;
  }
  --s.outstanding;
  s.verifying = 0;
  if (!s.prompt_done) {
    s.prompt_done = true;
    u.admitted_ms = s.admitted_ms;
    if (!s.follows) {
      counters.prompt_tokens += static_cast<std::uint64_t>(s.prompt_tokens);
    }
    u.prompt_logprobs = std::exchange(s.prompt_scores, {});
  }
  if (s.max_tokens == 0) {
    s.computed = expected.end;
    finish(u, finish_reason::length);
    return expected.rows;
  }
  const auto outcome = settle(s, expected, item, u);
  if (expected.kind != row_kind::verify) {
    s.computed = expected.end;
    return u.reason == finish_reason::failed ? 0 : expected.rows;
  }
  // What was rejected is overwritten by the rows that follow.
  s.computed = expected.end - expected.rows + outcome.kept_rows;
  s.scheduled = s.computed;
  trim_blocks(s);
  return outcome.kept_rows;
}

/// What the picks mean: a classic row is a round of width 1.
round_outcome scheduler::impl::settle(sequence& s,
                                      const expected_item& expected,
                                      const step_item_result& item,
                                      sequence_update& u) {
  round_report report;
  report.position = expected.end - expected.picks;
  report.anchor = s.tokens.back();
  report.drafts = expected.drafts;
  std::vector<token_id> input{report.anchor};
  input.insert(input.end(), report.drafts.begin(), report.drafts.end());
  for (const auto& pick : item.picks) report.picks.push_back(pick.token);

  emission_rules limit;
  limit.stop_tokens = s.stop_tokens;
  std::vector<token_id> noticed;
  if (faults && !report.drafts.empty()) {
    noticed = noticed_stops(s, report);
    limit.stop_tokens = noticed;
  }
  limit.to_emit = s.max_tokens - s.generated();
  limit.context_left = limits.context - report.position;
  if (s.stops.active() && token_bytes) {
    limit.completes_stop_string = [&](token_id token) {
      const auto match = s.stops.push(token_bytes(token));
      if (match) u.stop_string = static_cast<std::int32_t>(match->index);
      return match.has_value();
    };
  }
  report.outcome = settle_round(input, report.picks, limit);
  const round_outcome& out = report.outcome;
  for (std::size_t i = 0; i < out.emitted.size(); ++i) {
    if (out.end == round_end::stop_token && i + 1 == out.emitted.size()) break;
    s.tokens.push_back(out.emitted[i]);
    u.tokens.push_back(item.picks[i]);
  }
  const auto emitted = u.tokens.size();
  counters.generation_tokens += emitted;
  if (rules.order.by == order_by::fair) {
    shares.charge(s.tenant, static_cast<std::int64_t>(emitted));
  }
  if (expected.kind == row_kind::verify) {
    ++counters.rounds;
    counters.drafted_tokens += report.drafts.size();
    counters.accepted_tokens +=
        static_cast<std::uint64_t>(out.accepted_emitted);
  }
  switch (out.end) {
    case round_end::none:
      break;
    case round_end::stop_token:
      u.stop_token = out.emitted.back();
      finish(u, finish_reason::stop);
      break;
    case round_end::stop_string:
      finish(u, finish_reason::stop);
      break;
    case round_end::budget:
    case round_end::context:
      finish(u, finish_reason::length);
      break;
    case round_end::failed:
      fail(u, item.row_error.empty() ? "the step picked no token"
                                     : item.row_error);
      break;
  }
  if (s.speculate && expected.kind != row_kind::prefill) {
    u.rounds.push_back(report);
  }
  return report.outcome;
}

}  // namespace vouch::engine
