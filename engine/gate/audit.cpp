#include "engine/gate/audit.hpp"

#include <algorithm>
#include <numeric>
#include <utility>

#include "engine/sampling/noise.hpp"

namespace vouch::engine {
namespace {

/// How much credit may be saved up: a drawn item costs so much at most, or some
/// replays of a longer pause.
constexpr double most_credit = 0.25;
/// Credit before the first step: a few rows, so that the first seconds are
/// audited as well.
constexpr double first_credit = 0.01;
/// A kind that was not seen for so many draws leaves its part to the others.
constexpr std::uint64_t recent = 256;
/// Of the items that could be drawn, those that are: none can tell which.
constexpr double draw_odds = 0.25;
/// Below this part of what was asked for, too little was audited.
constexpr double least_part = 0.25;
/// Of served time, before anybody speaks of too little.
constexpr double grace_seconds = 2.0;

audit_kind kind(row_kind rows, bool cached) {
  if (rows == row_kind::verify) return audit_kind::burst;
  if (cached) return audit_kind::cached;
  return rows == row_kind::prefill ? audit_kind::prefill : audit_kind::classic;
}

/// That the text is what the rows' picks say, and ends at a stop token.
template <class Differs>
void compare_text(const audit_finding& of, const Differs& differs) {
  const auto& r = of.record;
  const auto token_at = [&](std::int64_t position) {
    const auto at = static_cast<std::size_t>(position);
    return at < r.tokens.size() ? r.tokens[at] : r.next;
  };
  for (const auto& row : of.classic) {
    const auto next = row.position + 1;
    if (row.pick < 0 || next < r.prompt_tokens || token_at(next) < 0) continue;
    if (token_at(next) != row.pick) differs(row.position, "pick");
  }
  const auto is_in = [](const std::vector<token_id>& list, token_id token) {
    return std::find(list.begin(), list.end(), token) != list.end();
  };
  const auto size = static_cast<std::int64_t>(r.tokens.size());
  for (std::int64_t p = r.prompt_tokens; p < size; ++p) {
    const auto token = token_at(p);
    if (is_in(r.sampling.request_stop_tokens, token) ||
        (!r.sampling.ignore_eos && is_in(r.sampling.stop_tokens, token))) {
      differs(p, "text behind a stop token");
    }
  }
}

std::size_t index(audit_kind of) { return static_cast<std::size_t>(of); }

}  // namespace

audit_kind kind_of(const audit_candidate& item) {
  return kind(item.kind, item.cached_prefix);
}
audit_kind kind_of(const audit_record& item) {
  return kind(item.kind, item.cached_prefix);
}

audit::audit(audit_options options)
    : options_{options}, credit_{options.share > 0.0 ? first_credit : 0.0} {
  counts_.share = options_.share;
}

double audit::random() {
  ++draws_;
  const auto noise = philox({static_cast<std::uint32_t>(draws_),
                             static_cast<std::uint32_t>(draws_ >> 32U), 0, 1},
                            {static_cast<std::uint32_t>(options_.seed),
                             static_cast<std::uint32_t>(options_.seed >> 32U)});
  return static_cast<double>(noise[0]) * 0x1p-32;
}

std::int64_t audit::kept_rows(row_kind of, std::int64_t rows) const {
  return of == row_kind::prefill ? std::min(rows, options_.prefill_rows) : rows;
}

double audit::cost_of(std::int64_t rows) const {
  return row_seconds_ * static_cast<double>(rows);
}

bool audit::draw(const audit_candidate& item) {
  if (options_.share <= 0.0) return false;
  const auto mine = index(kind_of(item));
  const double odds = random();
  seen_[mine] = draws_;
  if (queue_.size() >= options_.queue || odds >= draw_odds) return false;
  if (credit_ - promised() <= 0.0) return false;
  // The kind that had least is first, of those that are there to be had.
  for (std::size_t other = 0; other < spent_.size(); ++other) {
    const bool there = seen_[other] != 0 && seen_[other] + recent >= draws_;
    if (there && spent_[other] < spent_[mine]) return false;
  }
  const double cost = cost_of(kept_rows(item.kind, item.rows));
  // Some that were drawn never come: their sequences ended.
  if (drawn_.size() >= 2 * options_.queue) drawn_.pop_front();
  drawn_.push_back(cost);
  spent_[mine] += cost;
  return true;
}

double audit::promised() const {
  double all = std::accumulate(drawn_.begin(), drawn_.end(), 0.0);
  for (const auto& each : queue_) {
    all += cost_of(kept_rows(each.record.kind, each.record.rows));
  }
  return all;
}

void audit::served(double seconds) {
  served_ += seconds;
  credit_ = std::min(credit_ + options_.share * seconds, most_credit);
}

void audit::replayed(double seconds) {
  if (!drawn_.empty()) drawn_.pop_front();
  credit_ -= seconds;
}

void audit::drop(std::uint64_t hold) {
  ++counts_.dropped;
  released_.push_back(hold);
}

void audit::add(audit_record record) {
  if (!drawn_.empty()) drawn_.pop_front();
  if (queue_.size() >= options_.queue) return drop(record.hold);
  const double share = record.cached_prefix ? 0.5 : options_.cold_share;
  job waiting{std::move(record)};
  waiting.cold = random() < share &&
                 static_cast<std::int64_t>(waiting.record.tokens.size()) <=
                     options_.longest_cold;
  queue_.push_back(std::move(waiting));
}

void audit::lost(std::uint64_t hold) {
  for (auto& each : queue_) {
    if (each.record.hold == hold) each.lost = true;
  }
  if (running_ && running_->record.hold == hold) {
    running_->lost = true;
    // What was read from its blocks may be wrong; what was computed is not.
    if (!running_->cold || phase_ == phase::originals) abandon();
  }
  std::erase_if(queue_, [this](const job& each) {
    if (!each.lost) return false;
    ++counts_.dropped;
    return true;
  });
}

std::vector<std::uint64_t> audit::take_released() {
  return std::exchange(released_, {});
}

replay_request audit::request_of(const job& of) const {
  const auto& r = of.record;
  replay_request what;
  what.tokens = r.tokens;
  what.first = r.position + r.rows - kept_rows(r.kind, r.rows);
  what.sampling = r.sampling;
  what.prompt_tokens = r.prompt_tokens;
  if (!of.cold) what.prefix = r.blocks;
  what.chunk = options_.chunk;
  return what;
}

std::optional<gate_need> audit::need() const {
  if (holding_ || running_ || queue_.empty()) return std::nullopt;
  return replay::need(request_of(queue_.front()));
}

void audit::lend(loan lent) {
  map_ = loan_map{std::move(lent)};
  holding_ = true;
  begin();
}

std::optional<loan> audit::give_back() { return std::exchange(spare_, {}); }

void audit::begin() {
  if (queue_.empty()) {
    holding_ = false;
    spare_ = map_.lent();
    return;
  }
  running_ = std::move(queue_.front());
  queue_.pop_front();
  auto what = request_of(*running_);
  const auto need = replay::need(what);
  kv_begin_ = running_->cold ? 0 : what.first;
  kv_.clear();
  job_seconds_ = 0.0;
  phase_ = phase::originals;
  const auto& lent = map_.lent();
  if (need.blocks > static_cast<std::int64_t>(lent.blocks.size()) ||
      lent.slots.empty()) {
    // Another item stood in front when this was asked for.
    queue_.push_front(std::move(*running_));
    running_.reset();
    holding_ = false;
    spare_ = lent;
    return;
  }
  replay_.emplace(std::move(what), map_);
}

void audit::abandon() {
  if (out_) {
    abandoned_ = true;
  } else {
    phase_ = phase::dropping;
  }
}

void audit::withdraw() {
  if (holding_ && running_) abandon();
}

bool audit::owed() const { return waits() && credit_ > 0.0; }

std::optional<gate_unit> audit::next() {
  if (out_ || !running_) return std::nullopt;
  out_ = true;
  if (phase_ == phase::replaying) return replay_->next();
  gate_unit unit;
  if (phase_ == phase::originals) {
    const auto& r = running_->record;
    unit.kv.push_back(
        {r.blocks, static_cast<std::int32_t>(kv_begin_), r.position + r.rows});
  } else {
    unit.work.released = map_.lent().slots;
  }
  return unit;
}

void audit::take(const gate_unit_result& result) {
  out_ = false;
  job_seconds_ += result.step.seconds;
  counts_.seconds += result.step.seconds;
  credit_ -= result.step.seconds;
  if (std::exchange(abandoned_, false)) {
    phase_ = phase::dropping;
    return;
  }
  switch (phase_) {
    case phase::originals:
      if (!result.kv.empty()) kv_ = result.kv[0];
      phase_ = phase::replaying;
      return;
    case phase::dropping:
      drop(running_->record.hold);
      break;
    case phase::replaying:
      replay_->take(result);
      if (!replay_->done()) return;
      finish();
      break;
  }
  running_.reset();
  replay_.reset();
  holding_ = false;
  spare_ = map_.lent();
}

void audit::finish() {
  audit_finding found;
  found.kind = kind_of(running_->record);
  found.cold = running_->cold;
  found.kv_begin = kv_begin_;
  found.kv = kv_;
  found.classic = replay_->rows();
  found.seconds = job_seconds_;
  found.record = std::move(running_->record);
  compare(found);
  const auto rows = static_cast<double>(found.classic.size());
  if (!found.cold && rows > 0) {
    row_seconds_ += 0.1 * (job_seconds_ / rows - row_seconds_);
  }
  if (!replay_->error().empty() && !found.first) {
    // It could not be computed here: no evidence of anything.
    return drop(found.record.hold);
  }
  const auto result = found.first ? audit_result::differs : audit_result::equal;
  counts_.rows[index(found.kind)][static_cast<std::size_t>(result)] +=
      static_cast<std::int64_t>(found.classic.size());
  if (!running_->lost) released_.push_back(found.record.hold);
  finding_ = std::move(found);
}

void audit::compare(audit_finding& into) const {
  const auto& r = into.record;
  const auto differs = [&](std::int64_t position, const std::string& what) {
    if (into.first && into.first->position <= position) return;
    into.first = divergence{};
    into.first->position = position;
    into.first->row = std::max<std::int64_t>(0, position - r.position);
    into.first->where = what + ": served ";
    into.first->where += name_of(into.kind);
    into.first->where += r.batched ? ", beside others" : ", alone";
    if (into.cold) into.first->where += ", computed from token 0";
  };
  const auto kv_at = [&](std::int64_t position, std::uint64_t classic) {
    const auto at = static_cast<std::size_t>(position - into.kv_begin);
    if (at >= into.kv.size()) return differs(position, "kv is missing");
    if (into.kv[at] != classic) return differs(position, "kv");
    ++into.kv_rows;
  };
  if (into.cold) {
    const auto& prefix = replay_->prefix_kv();
    for (std::size_t i = 0; i < prefix.size(); ++i) {
      kv_at(static_cast<std::int64_t>(i), prefix[i]);
    }
  }
  for (const auto& row : into.classic) {
    kv_at(row.position, row.kv);
    const auto i = row.position - r.position - r.hash_begin;
    if (i < 0) continue;
    const auto at = static_cast<std::size_t>(i);
    if (at >= r.logits_hashes.size()) {
      differs(row.position, "logits hash is missing");
      continue;
    }
    if (at < r.logits_states.size() &&
        r.logits_states[at] != logits_state::sound) {
      differs(row.position, "logits are no row");
    } else if (r.logits_hashes[at] != row.logits) {
      differs(row.position, "logits");
    }
    ++into.rows;
  }
  compare_text(into, differs);
}

std::optional<audit_finding> audit::take_finding() {
  return std::exchange(finding_, {});
}

const audit_counts& audit::counts() const {
  const double all = served_ + counts_.seconds;
  counts_.share_had = all > 0.0 ? counts_.seconds / all : 0.0;
  counts_.shortfall = options_.share > 0.0 && served_ > grace_seconds &&
                      counts_.seconds < least_part * options_.share * served_;
  return counts_;
}

}  // namespace vouch::engine
