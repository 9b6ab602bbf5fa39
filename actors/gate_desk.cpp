#include "actors/gate_desk.hpp"

#include <algorithm>
#include <utility>

namespace vouch::actors {
namespace {

/// Served time that is not told of by itself before it is so long.
constexpr double report_seconds = 0.1;

}  // namespace

bool gate_desk::draw(const engine::audit_candidate& item) {
  const bool drawn = drawer_.draw(item);
  drawn_ += drawn ? 1 : 0;
  return drawn;
}

void gate_desk::planned() {
  drawn_in_flight_.push_back(std::exchange(drawn_, 0));
}

void gate_desk::served(double seconds) {
  drawer_.served(seconds);
  seconds_ += seconds;
}

std::span<const engine::audit_record> gate_desk::collect(
    engine::scheduler& schedule) {
  auto fresh = schedule.take_audited();
  const auto count = fresh.size();
  if (!drawn_in_flight_.empty()) {
    // Those of sequences that have ended meanwhile are not to be had.
    for (auto lost = drawn_in_flight_.front(); lost > count; --lost) {
      drawer_.replayed(0.0);
    }
    drawn_in_flight_.pop_front();
  }
  for (auto& record : fresh) {
    holds_.push_back(record.hold);
    audited_.push_back(std::move(record));
  }
  return std::span{audited_}.last(count);
}

std::optional<served_report> gate_desk::report(engine::scheduler& schedule,
                                               bool at_once) {
  served_report made;
  made.audited = std::exchange(audited_, {});
  made.dropped = schedule.take_dropped_holds();
  for (const auto hold : made.dropped) {
    drawer_.replayed(0.0);
    std::erase(holds_, hold);
  }
  const bool news = !made.audited.empty() || !made.dropped.empty();
  if (!news && seconds_ < report_seconds && !(at_once && seconds_ > 0.0)) {
    return std::nullopt;
  }
  made.seconds = std::exchange(seconds_, 0.0);
  return made;
}

void gate_desk::done(const audits_done& what, engine::scheduler& schedule) {
  double seconds = what.seconds;
  for (const auto hold : what.holds) {
    drawer_.replayed(std::exchange(seconds, 0.0));
    schedule.release_hold(hold);
    std::erase(holds_, hold);
  }
}

std::optional<engine::loan> gate_desk::lend(engine::scheduler& schedule) {
  if (!wanted_ || recalled_) {
    return std::nullopt;
  }
  auto lent = schedule.lend(wanted_->blocks, wanted_->slots);
  if (lent) {
    wanted_.reset();
    lent_.push_back(*lent);
  }
  return lent;
}

void gate_desk::take_back(const engine::loan& lent,
                          engine::scheduler& schedule) {
  schedule.take_back(lent);
  std::erase_if(lent_, [&](const engine::loan& each) {
    return each.blocks == lent.blocks && each.slots == lent.slots;
  });
  recalled_ = recalled_ && !lent_.empty();
}

bool gate_desk::recall(const engine::scheduler& schedule) {
  if (recalled_ || lent_.empty() || !schedule.wants_loans_back()) {
    return false;
  }
  recalled_ = true;
  owe();
  return true;
}

void gate_desk::owe() {
  if (waiting_) {
    waiting_->owed = true;
  }
}

std::optional<engine::gate_unit> gate_desk::take_unit(bool idle) {
  if (!waiting_ || !(idle || waiting_->owed || recalled_)) {
    return std::nullopt;
  }
  auto unit = std::move(waiting_->unit);
  waiting_.reset();
  for (const auto slot : unit.work.released) {
    open_.erase(slot);
  }
  for (const auto& start : unit.work.opened) {
    open_.insert(start.slot);
  }
  return unit;
}

std::vector<engine::slot_id> gate_desk::abandon(engine::scheduler& schedule) {
  for (const auto& each : std::exchange(lent_, {})) {
    schedule.take_back(each);
  }
  audited_.clear();
  schedule.take_dropped_holds();
  for (const auto hold : std::exchange(holds_, {})) {
    drawer_.replayed(0.0);
    schedule.release_hold(hold);
  }
  wanted_.reset();
  waiting_.reset();
  recalled_ = false;
  const auto open = std::exchange(open_, {});
  return {open.begin(), open.end()};
}

}  // namespace vouch::actors
