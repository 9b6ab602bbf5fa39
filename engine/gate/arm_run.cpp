#include "engine/gate/arm_run.hpp"

#include <algorithm>
#include <numeric>
#include <utility>

#include "engine/gate/pattern_drafts.hpp"

namespace vouch::engine {
namespace {

policy rules_of(const scenario& played, const arm_setup& setup) {
  policy rules = setup.rules;
  rules.limits.queue_timeout = 0.0;
  rules.limits.request_timeout = 0.0;
  rules.limits.max_queued_requests = 1 << 20;
  rules.limits.max_queued_prompt_tokens = std::int64_t{1} << 40U;
  rules.order.by = order_by::fcfs;
  rules.cache.prefix_cache = played.prefix_cache;
  rules.cache.reserve_full = false;
  rules.preempt.mode = preempt_mode::recompute;
  if (played.chunk > 0) {
    rules.prefill.chunk_tokens = static_cast<std::int32_t>(played.chunk);
  }
  return rules;
}

executor_limits limits_of(const scenario& played, const arm_setup& setup,
                          const loan_map& map) {
  auto limits = map.limits(setup.limits);
  if (played.blocks > 0) {
    limits.blocks = static_cast<std::int32_t>(
        std::min<std::int64_t>(limits.blocks, played.blocks));
  }
  return limits;
}

}  // namespace

arm_run::arm_run(scenario played, std::span<const probe_text> texts,
                 const arm_setup& setup, loan_map map, bool building)
    : played_{std::move(played)},
      texts_{texts},
      setup_{setup},
      map_{std::move(map)},
      building_{building},
      schedule_{
          rules_of(played_, setup_), limits_of(played_, setup_, map_), 1, {}},
      random_{played_.seed} {
  burst_rules rules;
  rules.widths = played_.widths;
  rules.positions = setup_.limits.context;
  rules.drafts = {setup_.vocabulary, setup_.mask};
  schedule_.set_burst_rules(rules);
  if (setup_.faults) schedule_.set_faults(setup_.faults);
  if (!building_) schedule_.set_faults(setup_.faults);
  for (std::size_t i = 0; i < played_.sequences.size(); ++i) {
    const auto& each = played_.sequences[i];
    const auto& text = texts_[each.text];
    member m;
    m.tokens.assign(text.tokens.begin(), text.tokens.begin() + text.prompt);
    m.drafts = open_pattern(each.pattern, text, setup_.vocabulary, setup_.live,
                            played_.seed + i);
    members_.push_back(std::move(m));
  }
}

bool arm_run::all_ended() const {
  return std::all_of(members_.begin(), members_.end(),
                     [](const member& m) { return m.ended; });
}

void arm_run::add_due() {
  for (std::size_t i = 0; i < members_.size(); ++i) {
    member& m = members_[i];
    const auto& each = played_.sequences[i];
    if (m.added || each.delay > steps_) continue;
    if (each.after >= 0 &&
        !members_[static_cast<std::size_t>(each.after)].ended) {
      continue;
    }
    sequence_start start;
    start.id = i + 1;
    start.prompt = m.tokens;
    start.sampling = texts_[each.text].sampling;
    if (each.stop_token >= 0) {
      start.sampling.request_stop_tokens = {each.stop_token};
    }
    start.max_tokens = each.tokens;
    start.prompt_logprobs = each.prompt_logits;
    m.added = true;
    if (schedule_.add(std::move(start), 0) != rejection::none) {
      stuck_ = "a sequence was refused";
    }
  }
}

void arm_run::offer_drafts() {
  for (const auto& wish : schedule_.draft_wishes()) {
    const auto i = static_cast<std::size_t>(wish.id - 1);
    member& m = members_[i];
    const int width = std::min(wish.most, played_.sequences[i].width);
    if (width < 2) continue;
    if (drafts_on_device(i) && device_drafts_) {
      const auto slot = map_.slot(wish.slot);
      for (const auto& each : device_drafts_->items) {
        if (each.slot == slot) {
          schedule_.offer(wish.id, each.proposal.tokens);
        }
      }
    }
    if (m.drafts == nullptr) continue;
    const auto proposed =
        m.drafts->propose(schedule_.tokens_of(wish.id), width);
    schedule_.offer(wish.id, proposed.tokens);
  }
}

draft_batch arm_run::drafts_to_ask() const {
  draft_batch batch;
  for (const auto& wish : schedule_.draft_wishes()) {
    const auto i = static_cast<std::size_t>(wish.id - 1);
    const int width = std::min(wish.most, played_.sequences[i].width);
    if (!drafts_on_device(i) || width < 2) continue;
    const auto tokens = schedule_.tokens_of(wish.id);
    batch.items.push_back({map_.slot(wish.slot), tokens.back(),
                           static_cast<std::int32_t>(tokens.size()) - 1,
                           width});
  }
  return batch;
}

std::optional<gate_unit> arm_run::next() {
  if (out_ || phase_ == phase::done) return std::nullopt;
  if (!just_ended_.empty() || all_ended()) {
    if (all_ended()) phase_ = phase::closing;
    out_ = true;
    return closing_unit();
  }
  add_due();
  if (schedule_.idle()) {
    // Everybody who came has gone; those who wait for a step begin now.
    for (std::size_t i = 0; i < members_.size(); ++i) {
      if (!members_[i].added) {
        steps_ = std::max(steps_, played_.sequences[i].delay);
        break;
      }
    }
    add_due();
  }
  if (!device_drafts_) {
    gate_unit ask;
    ask.drafts = drafts_to_ask();
    if (!ask.drafts.items.empty()) {
      asking_ = true;
      out_ = true;
      return ask;
    }
  }
  if (played_.send_back > 0 && steps_ == played_.send_back) {
    schedule_.distrust();
  }
  offer_drafts();
  device_drafts_.reset();
  auto planned = schedule_.plan(0);
  if (!planned) {
    if (stuck_.empty()) stuck_ = "nothing could be planned";
    phase_ = phase::closing;
    out_ = true;
    return closing_unit();
  }
  ++steps_;
  out_ = true;
  return unit_of(std::move(*planned));
}

gate_unit arm_run::unit_of(scheduler::planned_step planned) {
  for (auto& item : planned.work.items) item.hash_logits = true;
  planned_ = std::move(planned);
  order_.resize(planned_.work.items.size());
  std::iota(order_.begin(), order_.end(), std::size_t{0});
  if (played_.permute) std::shuffle(order_.begin(), order_.end(), random_);
  sent_ = planned_;
  for (std::size_t i = 0; i < order_.size(); ++i) {
    sent_.work.items[i] = planned_.work.items[order_[i]];
    sent_.sequences[i] = planned_.sequences[order_[i]];
  }
  for (auto& start : sent_.opened) {
    // The drafter follows those alone that it drafts for.
    start.drafts = false;
    for (std::size_t i = 0; i < sent_.sequences.size(); ++i) {
      if (sent_.work.items[i].slot != start.slot) continue;
      start.drafts =
          drafts_on_device(static_cast<std::size_t>(sent_.sequences[i] - 1));
    }
  }
  map_.lay(sent_);
  gate_unit unit;
  unit.work = sent_;
  for (const auto& item : sent_.work.items) {
    const auto rows = static_cast<std::int32_t>(item.tokens.size());
    unit.kv.push_back({item.blocks, item.position, item.position + rows});
  }
  return unit;
}

gate_unit arm_run::closing_unit() {
  gate_unit unit;
  planned_ = {};
  sent_ = {};
  order_.clear();
  for (const auto i : just_ended_) {
    const member& m = members_[i];
    // The last token has no row.
    const auto rows = static_cast<std::int32_t>(m.tokens.size()) - 1;
    unit.kv.push_back({m.blocks, 0, rows});
  }
  if (phase_ == phase::closing) unit.work.released = map_.lent().slots;
  return unit;
}

step_result arm_run::in_plan_order(const step_result& result) const {
  step_result out = result;
  if (result.items.size() != order_.size()) return out;
  for (std::size_t i = 0; i < order_.size(); ++i) {
    out.items[order_[i]] = result.items[i];
    out.items[order_[i]].slot = planned_.work.items[order_[i]].slot;
  }
  return out;
}

bool arm_run::is_text(const member& m, std::size_t sequence,
                      std::int64_t position, token_id token) const {
  const auto at = static_cast<std::size_t>(position);
  if (building_) return at >= m.tokens.size() || m.tokens[at] == token;
  const auto& text = texts_[played_.sequences[sequence].text];
  return at < text.tokens.size() && text.tokens[at] == token;
}

void arm_run::read_item(const step_item& item, const step_item_result& result,
                        std::span<const std::uint64_t> kv, std::size_t sequence,
                        arm_step& seen) const {
  const auto rows = static_cast<std::int32_t>(item.tokens.size());
  const auto logits = static_cast<std::size_t>(rows - item.logits_begin);
  const auto fail = [&](std::string what) {
    if (!seen.failed) {
      seen.failed = {sequence, item.position, std::move(what), false};
    }
  };
  if (!result.error.empty()) return fail(result.error);
  if (kv.size() != item.tokens.size()) {
    return fail("hashes of K and V are missing");
  }
  if (result.logits_hashes.size() != logits ||
      result.logits_states.size() != logits) {
    return fail("hashes of logits are missing");
  }
  const member& m = members_[sequence];
  std::int32_t kept = 0;
  for (std::int32_t r = 0; r < rows; ++r, ++kept) {
    const auto at = static_cast<std::size_t>(r);
    if (!is_text(m, sequence, item.position + r, item.tokens[at])) break;
    arm_row row{sequence, item.kind, rows, r,     item.position + r,
                {},       {},        -1,   kv[at]};
    if (r >= item.logits_begin) {
      const auto l = static_cast<std::size_t>(r - item.logits_begin);
      row.logits = result.logits_hashes[l];
      row.state = result.logits_states[l];
    }
    if (r >= item.pick_begin) {
      const auto p = static_cast<std::size_t>(r - item.pick_begin);
      if (p < result.picks.size()) row.pick = result.picks[p].token;
    }
    seen.rows.push_back(row);
  }
  if (kept == 0) fail("a row's input is not the text's");
  if (item.kind == row_kind::verify) {
    seen.rounds.push_back({sequence, rows, std::max(0, kept - 1)});
  }
}

arm_step arm_run::take(const gate_unit_result& result) {
  arm_step seen;
  out_ = false;
  if (std::exchange(asking_, false)) {
    device_drafts_ = result.drafts;
    seen.seconds = result.drafts.seconds;
    return seen;
  }
  seen.seconds = result.step.seconds;
  if (!stuck_.empty()) seen.failed = {0, -1, stuck_, true};
  if (planned_.work.items.empty()) {
    for (std::size_t i = 0; i < just_ended_.size(); ++i) {
      std::vector<std::uint64_t> kv;
      if (i < result.kv.size()) kv = result.kv[i];
      const auto sequence = just_ended_[i];
      const auto tokens =
          static_cast<std::int64_t>(members_[sequence].tokens.size()) -
          texts_[played_.sequences[sequence].text].prompt;
      seen.ends.push_back({sequence, tokens, std::move(kv)});
    }
    just_ended_.clear();
    if (phase_ == phase::closing) phase_ = phase::done;
    return seen;
  }
  const auto& items = sent_.work.items;
  if (!result.step.error.empty() || result.step.items.size() != items.size() ||
      result.kv.size() != items.size()) {
    const auto why = result.step.error.empty() ? "a step's result is incomplete"
                                               : result.step.error;
    seen.failed = {0, -1, why, true};
    just_ended_.clear();
    for (auto& m : members_) m.ended = true;
    return seen;
  }
  for (std::size_t i = 0; i < items.size(); ++i) {
    const auto sequence = static_cast<std::size_t>(sent_.sequences[i] - 1);
    members_[sequence].blocks = items[i].blocks;
    read_item(items[i], result.step.items[i], result.kv[i], sequence, seen);
  }
  for (auto& u : schedule_.update(in_plan_order(result.step))) {
    const auto i = static_cast<std::size_t>(u.id - 1);
    member& m = members_[i];
    for (const auto& pick : u.tokens) m.tokens.push_back(pick.token);
    if (u.cached_tokens > 0 && u.admitted_ms >= 0) ++cache_hits_;
    if (m.drafts != nullptr) {
      for (const auto& round : u.rounds) m.drafts->observe(round.outcome);
    }
    if (!u.finished) continue;
    m.ended = true;
    just_ended_.push_back(i);
    if (u.reason == finish_reason::failed && !seen.failed) {
      seen.failed = {i, -1, u.error, false};
    }
  }
  stats_ = schedule_.stats();
  return seen;
}

}  // namespace vouch::engine
