#include "engine/gate/gate.hpp"

#include <algorithm>
#include <utility>

namespace vouch::engine {
namespace {

bool changed(const verdict& before, const verdict& now) {
  return before.state != now.state || before.positions != now.positions ||
         before.reason != now.reason;
}

/// Takes over what was measured; a trip stays.
bool take_over(verdict& mine, const verdict& measured) {
  if (mine.tripped() || mine == measured) return false;
  const bool news = changed(mine, measured);
  mine = measured;
  return news;
}

}  // namespace

gate::gate(verdict_scope scope, std::optional<verdict_table> stored,
           gate_options options)
    : scope_{std::move(scope)},
      id_{scope_id(scope_)},
      options_{std::move(options)},
      audit_{options_.audit} {
  if (stored) verdicts_ = std::move(*stored);
  for (const int width : options_.probe.widths) {
    auto& each = verdicts_.widths[width];
    if (each.state == verdict_state::not_run) each.reason = "not probed yet";
  }
  for (auto* each : {&verdicts_.alone, &verdicts_.batch}) {
    if (each->state == verdict_state::not_run) each->reason = "not probed yet";
  }
  start_probe(options_.probe.widths);
}

void gate::start_probe(const std::vector<int>& widths) {
  if (probe_) {
    earlier_rows_.add(probe_->total());
    earlier_seconds_ += probe_->seconds();
  }
  auto options = options_.probe;
  options.widths = widths;
  options.known = verdicts_;
  options.measure_all = options.measure_all || options_.unconstrained;
  remeasure_ = false;
  probe_.emplace(std::move(options));
  probing_ = options_.enabled && !probe_->done();
}

std::optional<gate_need> gate::need() const {
  if (auto wanted = audit_.need()) return wanted;
  return probing_ ? probe_->need() : std::nullopt;
}

void gate::lend(loan lent) {
  const auto fits = [&lent](const std::optional<gate_need>& wanted) {
    return wanted &&
           wanted->blocks <= static_cast<std::int64_t>(lent.blocks.size()) &&
           wanted->slots <= static_cast<int>(lent.slots.size());
  };
  if (fits(audit_.need())) {
    audit_.lend(std::move(lent));
  } else if (probing_ && fits(probe_->need())) {
    probe_->lend(std::move(lent));
  } else {
    // It was asked for by what does not want it any more.
    unused_.push_back(std::move(lent));
  }
}

std::optional<loan> gate::give_back() {
  if (!unused_.empty()) {
    auto spare = std::move(unused_.back());
    unused_.pop_back();
    return spare;
  }
  if (auto spare = audit_.give_back()) return spare;
  return probe_->give_back();
}

void gate::withdraw() {
  audit_.withdraw();
  probe_->withdraw();
}

bool gate::has_work() const { return probing_ || audit_.waits(); }

bool gate::probe_owed() const {
  const double had = probe_->seconds() + earlier_seconds_;
  return probing_ && had < options_.probe_share * served_;
}

bool gate::owed() const { return audit_.owed() || probe_owed(); }

std::optional<gate_unit> gate::next_unit() {
  if (out_ != worker::none) return std::nullopt;
  const auto from_audit = [this] {
    auto unit = audit_.next();
    if (unit) out_ = worker::audit;
    return unit;
  };
  // The audit's share comes first; what else it has to do comes last.
  if (audit_.owed()) {
    if (auto unit = from_audit()) return unit;
  }
  if (probing_) {
    if (auto unit = probe_->next()) {
      out_ = worker::probe;
      return unit;
    }
    look_at_probe(0);
  }
  return from_audit();
}

void gate::take(const gate_unit_result& result, std::int64_t now_ms) {
  const auto from = std::exchange(out_, worker::none);
  if (from == worker::probe) {
    probe_->take(result, now_ms);
    look_at_probe(now_ms);
  } else if (from == worker::audit) {
    audit_.take(result);
    look_at_audit(now_ms);
  }
}

void gate::look_at_probe(std::int64_t) {
  const auto& measured = probe_->verdicts();
  const auto report = [this](const std::string& name, const verdict& now) {
    events_.push_back({gate_event::kind::verdict, name + ": " + describe(now),
                       verdicts_, nullptr});
  };
  if (take_over(verdicts_.alone, measured.alone)) {
    report("one sequence a step", verdicts_.alone);
  }
  if (!remeasure_ && take_over(verdicts_.batch, measured.batch)) {
    report("batched", verdicts_.batch);
  }
  for (const auto& [width, each] : measured.widths) {
    auto& mine = verdicts_.widths[width];
    if (take_over(mine, each)) report("width " + std::to_string(width), mine);
  }
  if (!probing_ || !probe_->done()) return;
  if (remeasure_) {
    start_probe({});
    return;
  }
  probing_ = false;
  events_.push_back(
      {gate_event::kind::probed,
       "the probe is done: " + std::to_string(probe_->total().rows) +
           " rows compared",
       verdicts_, nullptr});
}

void gate::look_at_audit(std::int64_t now_ms) {
  auto found = audit_.take_finding();
  if (!found || !found->first) return;
  const bool of_burst = found->record.kind == row_kind::verify;
  // What an escape lets through is known to differ: counted, no more.
  if (options_.unconstrained || (of_burst && rules().inexact)) return;
  auto evidence = std::make_shared<trip_evidence>();
  evidence->scope = scope_text(scope_);
  evidence->scope_id = id_;
  evidence->when_ms = now_ms;
  evidence->before = verdicts_;
  const auto& record = found->record;
  const bool burst = record.kind == row_kind::verify;
  const auto from =
      burst ? rung::burst : (record.batched ? rung::batched : rung::alone);
  const bool other_rows = burst && record.batched;
  const auto first = *found->first;
  evidence->finding = std::move(*found);
  // What runs out after a trip trips nothing more.
  if (!trip(from, "the audit found other bytes than were served", first,
            now_ms)) {
    return;
  }
  events_.back().evidence = std::move(evidence);
  if (other_rows && !verdicts_.batch.wrong() && options_.enabled) {
    // Was it the burst, or the company it was in? Measured again at once.
    verdicts_.batch = {};
    verdicts_.batch.reason = "a burst beside others tripped: measured again";
    remeasure_ = true;
    if (!probing_) start_probe({});
  }
}

bool gate::trip(rung from, const std::string& reason, const divergence& first,
                std::int64_t now_ms) {
  verdict tripped;
  tripped.state = verdict_state::tripped;
  tripped.reason = reason;
  tripped.first = first;
  tripped.when_ms = now_ms;
  tripped.source = verdict_source::measured;
  bool any = false;
  const auto close = [&](verdict& each) {
    if (each.tripped()) return;
    each = tripped;
    any = true;
  };
  for (auto& [width, each] : verdicts_.widths) close(each);
  if (from >= rung::batched) close(verdicts_.batch);
  if (from >= rung::alone) close(verdicts_.alone);
  if (!any) return false;
  ++trips_;
  probe_->overrule(verdicts_);
  events_.push_back({gate_event::kind::tripped,
                     std::string{name_of(from)} + ": " + describe(tripped),
                     verdicts_, nullptr});
  return true;
}

void gate::set_evidence(const std::string& folder) {
  const auto set = [&](verdict& each) {
    if (each.tripped() && each.evidence.empty()) each.evidence = folder;
  };
  set(verdicts_.alone);
  set(verdicts_.batch);
  for (auto& [width, each] : verdicts_.widths) set(each);
  probe_->overrule(verdicts_);
}

void gate::served(double seconds) {
  served_ += seconds;
  audit_.served(seconds);
}

std::vector<gate_event> gate::take_events() {
  return std::exchange(events_, {});
}

}  // namespace vouch::engine
