#include "actors/burst_desk.hpp"

#include <algorithm>
#include <utility>

#include "actors/metrics.hpp"

namespace vouch::actors {
burst_desk::burst_desk(burst_setup setup, const engine::step_cost_model& costs,
                       std::shared_ptr<metrics> counters)
    : setup_{std::move(setup)},
      counters_{std::move(counters)},
      speculator_{{setup_.width,
                   setup_.is_free,
                   setup_.fixed,
                   {setup_.prior,
                    [&costs](std::int64_t rows, std::int64_t logits_rows) {
                      return costs.seconds(rows, logits_rows);
                    },
                    [this](std::int64_t, std::int64_t rows) {
                      return draft_seconds(rows);
                    }}}} {
  book_.set_no_drafter(setup_.declined);
  book_.set_gate(setup_.first_view);
}

double burst_desk::draft_seconds(std::int64_t rows) const {
  return row_seconds_ * static_cast<double>(rows);
}

void burst_desk::open(const engine::sequence_start& start,
                      const std::string& request, std::int64_t choice) {
  const auto prompt = static_cast<std::int64_t>(start.prompt.size());
  book_.open(start.id, start.speculate, prompt);
  sequence& s = sequences_[start.id];
  s.name = {request, choice};
  if (!setup_.transcript) return;
  s.record.name = s.name;
  s.record.prompt_tokens = prompt;
  s.record.last_token = start.prompt.empty() ? 0 : start.prompt.back();
  s.record.budget = start.max_tokens;
  s.record.stop_tokens = engine::ending_tokens(start.sampling);
  s.record.seed = start.sampling.seed;
  s.record.drafter = setup_.drafter;
}

void burst_desk::close(engine::sequence_id id) {
  const auto found = sequences_.find(id);
  if (found == sequences_.end()) return;
  // With the next order. As many may wait as orders have told of.
  if (found->second.told > 0) ended_.push_back(id);
  sequences_.erase(found);
  book_.close(id);
  speculator_.forget(id);
}

void burst_desk::set_gate(engine::gate_view view, engine::scheduler& schedule) {
  schedule.set_burst_rules(view.rules);
  book_.set_gate(std::move(view));
}

void burst_desk::set_drafter(std::optional<engine::decline> declined) {
  book_.set_no_drafter(declined);
  setup_.declined = std::move(declined);
  // A new DRAFTER knows nobody.
  for (auto& [id, s] : sequences_) s.told = 0;
  ended_.clear();
}

std::optional<draft_order> burst_desk::order(
    const engine::scheduler& schedule) {
  if (setup_.declined || setup_.width < 2) return std::nullopt;
  const auto wishes = schedule.draft_wishes();
  if (wishes.empty()) return std::nullopt;
  const auto asks = speculator_.ask(wishes, book_.gate().rules.widths,
                                    schedule.classic_load(wishes));
  if (asks.empty()) return std::nullopt;
  draft_order made;
  made.number = ++last_order_;
  order_is_over_ = false;
  ordered_rows_ = 0;
  for (const auto& ask : asks) {
    const auto found = sequences_.find(ask.id);
    if (found == sequences_.end()) continue;
    const auto tokens = schedule.tokens_of(ask.id);
    const auto size = static_cast<std::int64_t>(tokens.size());
    made.jobs.push_back(
        {ask, {tokens.begin() + found->second.told, tokens.end()}, size});
    found->second.told = size;
    ordered_rows_ += ask.width;
  }
  made.ended = std::exchange(ended_, {});
  return made;
}

bool burst_desk::worth_waiting(const draft_order& order) const {
  return !setup_.is_free || setup_.fixed ||
         std::any_of(order.jobs.begin(), order.jobs.end(),
                     [this](const draft_order::job& job) {
                       return speculator_.is_promising(job.ask.id);
                     });
}

void burst_desk::take_late(drafts& answer) {
  if (answer.number != last_order_ || order_is_over_) return;
  counters_->speculation().drafted(answer.seconds);
  speculator_.note(std::move(answer.answers));
}

bool burst_desk::take(drafts& answer, engine::scheduler& schedule) {
  if (answer.number != last_order_) return false;
  counters_->speculation().drafted(answer.seconds);
  if (ordered_rows_ > 0 && !setup_.is_free) {
    const double each = answer.seconds / static_cast<double>(ordered_rows_);
    row_seconds_ += (row_seconds_ == 0.0 ? 1.0 : 0.1) * (each - row_seconds_);
  }
  for (const auto& offer : speculator_.decide(std::move(answer.answers))) {
    schedule.offer(offer.id, offer.proposal.tokens);
    const auto found = sequences_.find(offer.id);
    if (found != sequences_.end()) {
      found->second.offered_under = book_.gate().verdict;
    }
  }
  for (const auto id : speculator_.unprofitable()) book_.unprofitable(id);
  return true;
}

void burst_desk::take(std::vector<engine::sequence_update>& updates,
                      const engine::scheduler& schedule) {
  order_is_over_ = true;
  for (auto& update : updates) {
    const auto found = sequences_.find(update.id);
    if (found == sequences_.end()) continue;
    sequence& s = found->second;
    // After a preemption the recomputed prompt gives a token, in no round.
    if (update.rounds.empty() && !update.tokens.empty()) s.in_burst = false;
    for (const auto& round : update.rounds) {
      speculator_.observe(update.id, round);
      if (round.drafts.empty()) {
        s.in_burst = false;
      } else {
        counters_->speculation().round(round);
        if (setup_.transcript) write_round(s, round, schedule);
      }
    }
    s.generated += static_cast<std::int64_t>(update.tokens.size());
    if (const auto why = book_.take(update))
      counters_->speculation().declined(*why);
    if (update.finished) close(update.id);
  }
}

engine::speculation_status burst_desk::status() const {
  auto now = setup_.status;
  now.declined = setup_.declined;
  if (setup_.declined || setup_.fixed) return now;
  now.decided_by = engine::name_of(speculator_.decided_by());
  // No sequence has this id, so it is what all of them did.
  constexpr engine::sequence_id nobody = 0;
  for (int evidence = 0; evidence < engine::evidence_classes; ++evidence) {
    auto& rates = now.acceptance.at(static_cast<std::size_t>(evidence));
    for (int index = 0; index + 1 < setup_.width; ++index) {
      rates.push_back(
          speculator_.controller().acceptance(nobody, evidence, index));
    }
  }
  return now;
}

void burst_desk::write_round(sequence& s, const engine::round_report& round,
                             const engine::scheduler& schedule) {
  // The verdict may have changed while the block was verified.
  const auto verdict =
      s.offered_under.empty() ? book_.gate().verdict : s.offered_under;
  if (!s.described) {
    s.described = true;
    s.record.context = schedule.limits().context;
    s.record.budget = s.record.budget < 0
                          ? s.record.context - s.record.prompt_tokens
                          : std::min(s.record.budget,
                                     s.record.context - s.record.prompt_tokens);
    s.record.widths = engine::width_set::up_to(setup_.width);
    setup_.transcript(to_line(s.record));
  }
  if (!s.in_burst || s.burst_verdict != verdict) {
    s.in_burst = true;
    s.burst_verdict = verdict;
    ++s.burst;
    s.round = 0;
    setup_.transcript(to_line(engine::transcript_burst{
        s.name, s.burst, s.generated, round.anchor, round.position, verdict}));
  }
  engine::transcript_round line;
  line.name = s.name;
  line.burst = s.burst;
  line.round = s.round++;
  line.width = static_cast<std::int64_t>(round.picks.size());
  line.position = round.position;
  line.anchor = round.anchor;
  line.drafts = round.drafts;
  line.picks = round.picks;
  line.accepted = round.outcome.accepted;
  line.emitted = round.outcome.emitted;
  line.cache_before = round.position;
  line.cache_after = round.position + round.outcome.kept_rows;
  line.seed = s.record.seed;
  line.sampler_position = round.position;
  line.verdict = verdict;
  line.end = round.outcome.end;
  setup_.transcript(to_line(line));
}

}  // namespace vouch::actors
