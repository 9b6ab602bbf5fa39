#pragma once

#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "engine/gate/gate.hpp"
#include "engine/gate/pattern_drafts.hpp"
#include "engine/gate/run_unit.hpp"
#include "engine/schedule/scheduler.hpp"

namespace vouch::engine {

/// What SCHEDULER, ENGINE and GATE do together, in one loop: steps of requests,
/// and between them the gate's units.
class small_server {
 public:
  small_server(executor& device, gate& judge, policy rules)
      : device_{&device},
        gate_{&judge},
        schedule_{rules, device.limits(), 1, {}} {
    schedule_.set_audit_draw(
        [this](const audit_candidate& item) { return gate_->draw(item); });
    follow_rules();
  }

  void add(std::vector<token_id> prompt, std::int64_t tokens,
           draft_pattern pattern = draft_pattern::random,
           sampling_params sampling = {}, const probe_text* known = nullptr) {
    sequence_start start;
    start.id = ++last_;
    start.prompt = std::move(prompt);
    start.max_tokens = tokens;
    start.sampling = std::move(sampling);
    texts_[last_] = start.prompt;
    drafts_[last_] =
        open_pattern(pattern, known ? *known : nothing_, 200, nullptr, last_);
    EXPECT_EQ(schedule_.add(std::move(start), 0), rejection::none);
  }

  /// One step of requests, or, when there is none, one unit of the gate.
  void turn() {
    ++turns;
    lend();
    if (!gate_->owed() || !unit()) {
      if (!step()) unit();
    }
    settle();
  }
  /// Until nobody waits, at most so often.
  void run(int most = 100'000) {
    while (!schedule_.idle() && most-- > 0) turn();
  }
  /// And until the gate has nothing to do.
  void rest(int most = 100'000) {
    while ((!schedule_.idle() || gate_->has_work()) && most-- > 0) turn();
  }

  const std::vector<token_id>& text(sequence_id id) const {
    return texts_.at(id);
  }
  sequence_id last() const { return last_; }
  const scheduler& schedule() const { return schedule_; }
  scheduler& schedule() { return schedule_; }

  /// Not 0: what a row costs by the clock of the gate, so that it draws alike
  /// every time.
  double row_seconds = 0.0;
  /// Rows that a planted fault changed.
  std::int64_t faulted_rows = 0;
  int turns = 0;
  /// Turn of the first trip; 0: none.
  int tripped = 0;
  std::vector<gate_event> events;
  std::map<std::string, std::string> errors;
  std::int64_t verify_rows() const {
    return static_cast<std::int64_t>(schedule_.stats().verify_rows);
  }

 private:
  void follow_rules() { schedule_.set_burst_rules(gate_->rules()); }

  void lend() {
    if (const auto need = gate_->need()) {
      if (auto lent = schedule_.lend(need->blocks, need->slots)) {
        gate_->lend(std::move(*lent));
      }
    }
    if (schedule_.wants_loans_back()) gate_->withdraw();
  }

  bool unit() {
    auto next = gate_->next_unit();
    if (!next) return false;
    const auto rows = next->work.work.rows();
    auto result = run_unit(*device_, std::move(*next));
    count(result.step, rows);
    gate_->take(result, turns);
    return true;
  }

  bool step() {
    for (const auto& wish : schedule_.draft_wishes()) {
      const auto drafted =
          drafts_[wish.id]->propose(schedule_.tokens_of(wish.id), wish.most);
      schedule_.offer(wish.id, drafted.tokens);
    }
    auto planned = schedule_.plan(0);
    if (!planned) return false;
    gate_unit as_unit;
    as_unit.work = std::move(*planned);
    const auto rows = as_unit.work.work.rows();
    auto result = run_unit(*device_, std::move(as_unit)).step;
    count(result, rows);
    gate_->served(result.seconds);
    for (auto& u : schedule_.update(result)) {
      auto& text = texts_[u.id];
      for (const auto& pick : u.tokens) text.push_back(pick.token);
      if (!u.error.empty()) errors[std::to_string(u.id)] = u.error;
    }
    return true;
  }

  void count(step_result& result, std::int64_t rows) {
    faulted_rows += result.faulted_rows;
    if (row_seconds > 0.0) {
      result.seconds = row_seconds * static_cast<double>(rows);
    }
  }

  void settle() {
    while (auto back = gate_->give_back()) schedule_.take_back(*back);
    for (auto& record : schedule_.take_audited()) {
      gate_->audited(std::move(record));
    }
    for (const auto hold : schedule_.take_dropped_holds()) gate_->lost(hold);
    for (const auto hold : gate_->take_released()) schedule_.release_hold(hold);
    for (auto& event : gate_->take_events()) {
      if (event.what == gate_event::kind::tripped) {
        if (tripped == 0) tripped = turns;
        schedule_.distrust();
      }
      follow_rules();
      events.push_back(std::move(event));
    }
    EXPECT_EQ(schedule_.check_invariants(), "");
  }

  executor* device_;
  gate* gate_;
  scheduler schedule_;
  sequence_id last_ = 0;
  probe_text nothing_;
  std::map<sequence_id, std::vector<token_id>> texts_;
  std::map<sequence_id, std::unique_ptr<sequence_drafter>> drafts_;
};

}  // namespace vouch::engine
