// What the gate's verdicts mean for who is served how.
#include <algorithm>
#include <limits>

#include "engine/gate/gate.hpp"

namespace vouch::engine {
namespace {

decline_reason reason_of(const verdict& of) {
  switch (of.state) {
    case verdict_state::diverges:
      return decline_reason::gate_diverges;
    case verdict_state::tripped:
      return decline_reason::gate_tripped;
    default:
      return decline_reason::gate_not_run;
  }
}

}  // namespace

rung gate::serves() const {
  if (options_.allow_inexact && !options_.probe.widths.empty()) {
    return rung::burst;
  }
  if (!options_.enabled) return rung::batched;
  const auto allowed = verdicts_.lowest_allowed();
  if (options_.unconstrained) return std::min(allowed, rung::batched);
  return allowed;
}

std::int64_t gate::burst_positions(const width_set& widths) const {
  auto least = std::numeric_limits<std::int64_t>::max();
  for (const int width : widths.widths()) {
    least = std::min(least, verdicts_.widths.at(width).positions);
  }
  return widths.empty() ? 0 : least;
}

burst_rules gate::rules() const {
  burst_rules rules;
  rules.drafts = {options_.probe.setup.vocabulary, options_.probe.setup.mask};
  const auto now = serves();
  rules.batched = now <= rung::batched;
  if (now != rung::burst) return rules;
  width_set open;
  width_set all;
  for (const int width : options_.probe.widths) {
    all.insert(width);
    const auto found = verdicts_.widths.find(width);
    if (found != verdicts_.widths.end() && found->second.equal()) {
      open.insert(width);
    }
  }
  if (verdicts_.lowest_allowed() != rung::burst) open = {};
  rules.widths = open;
  rules.positions = burst_positions(open);
  if (options_.allow_inexact) {
    const std::int64_t context = options_.probe.setup.limits.context;
    // Where all is vouched for but tails at the end of the context, nothing has
    // to be let through.
    constexpr std::int64_t tails = 2 * max_round_width + 4;
    rules.inexact = open != all || rules.positions + tails < context;
    if (rules.inexact) rules.positions = context;
    rules.widths = all;
  }
  return rules;
}

std::optional<decline> gate::decline_of(int width) const {
  const auto& configured = options_.probe.widths;
  if (options_.allow_inexact && !configured.empty()) return std::nullopt;
  if (!options_.enabled) {
    return decline{decline_reason::gate_not_run, "the gate is off"};
  }
  if (configured.empty()) {
    return decline{decline_reason::no_drafter, "no drafter is loaded"};
  }
  const auto open = rules().widths;
  if (width == 0 ? !open.empty() : open.contains(width)) return std::nullopt;
  for (const auto* below : {&verdicts_.alone, &verdicts_.batch}) {
    if (below->wrong()) return decline{reason_of(*below), describe(*below)};
  }
  if (width != 0) {
    const auto found = verdicts_.widths.find(width);
    if (found == verdicts_.widths.end()) {
      return decline{decline_reason::gate_not_run,
                     "width " + std::to_string(width) + " is not configured"};
    }
    return decline{reason_of(found->second), describe(found->second)};
  }
  // The worst of them says why.
  const verdict* worst = nullptr;
  for (const int each : configured) {
    const auto found = verdicts_.widths.find(each);
    if (found == verdicts_.widths.end()) continue;
    if (worst == nullptr || found->second.state > worst->state) {
      worst = &found->second;
    }
  }
  if (worst == nullptr) return decline{decline_reason::gate_not_run, {}};
  return decline{reason_of(*worst), describe(*worst)};
}

gate_snapshot gate::snapshot() const {
  gate_snapshot now;
  now.scope = scope_;
  now.id = id_;
  now.verdicts = verdicts_;
  now.serves = serves();
  now.closed = decline_of(0);
  const auto rules = this->rules();
  if (options_.allow_inexact && rules.inexact) {
    now.verdict = "allow_inexact";
  } else if (options_.unconstrained) {
    now.verdict = "fast";
  } else if (now.serves == rung::burst) {
    now.verdict = "equal";
  } else {
    auto worst = std::max(verdicts_.alone.state, verdicts_.batch.state);
    for (const auto& [width, each] : verdicts_.widths) {
      if (each.wrong()) worst = std::max(worst, each.state);
    }
    now.verdict = name_of(worst);
  }
  if (options_.enabled && !options_.unconstrained && !rules.inexact) {
    if (now.serves <= rung::batched && verdicts_.batch.equal()) {
      now.vouched_positions = verdicts_.batch.positions;
    } else if (now.serves == rung::alone && verdicts_.alone.equal()) {
      // One sequence a step is what everything else is compared with.
      now.vouched_positions = options_.probe.setup.limits.context;
    }
  }
  now.probing = probing_;
  now.probe_rows = probe_->total().rows + earlier_rows_.rows;
  now.probe_kv_rows = probe_->total().kv_rows + earlier_rows_.kv_rows;
  now.probe_seconds = probe_->seconds() + earlier_seconds_;
  now.audit = audit_.counts();
  now.trips = trips_;
  return now;
}

}  // namespace vouch::engine
