#include "engine/speculation/report_book.hpp"

#include <utility>

namespace vouch::engine {

void report_book::set_gate(gate_view view) { gate_ = std::move(view); }

void report_book::set_no_drafter(std::optional<decline> why) {
  no_drafter_ = std::move(why);
}

void report_book::open(sequence_id id, bool wants, std::int64_t prompt_tokens) {
  entry& e = entries_[id];
  e.wants = wants;
  e.tokens = prompt_tokens;
}

void report_book::unprofitable(sequence_id id) {
  const auto found = entries_.find(id);
  if (found != entries_.end()) found->second.unprofitable = true;
}

void report_book::audited(sequence_id id, std::int64_t rows) {
  const auto found = entries_.find(id);
  if (found != entries_.end()) found->second.report.audited += rows;
}

void report_book::trip() {
  for (auto& [id, e] : entries_) e.tripped = true;
}

std::optional<decline> report_book::declined(const entry& e) const {
  if (!e.wants) return decline{decline_reason::request_opt_out, ""};
  if (no_drafter_) return no_drafter_;
  if (gate_.closed) return decline{*gate_.closed, gate_.detail};
  if (e.report.rounds == 0 && e.unprofitable) {
    return decline{decline_reason::unprofitable, ""};
  }
  return std::nullopt;
}

std::optional<decline_reason> report_book::take(sequence_update& update) {
  const auto found = entries_.find(update.id);
  if (found == entries_.end()) return std::nullopt;
  entry& e = found->second;
  bool news = update.finished;
  for (const auto& round : update.rounds) {
    if (round.drafts.empty()) continue;
    e.report.count_round(static_cast<int>(round.picks.size()),
                         round.outcome.accepted_emitted);
    e.report.inexact = e.report.inexact || gate_.rules.inexact;
    news = true;
  }
  e.tokens += static_cast<std::int64_t>(update.tokens.size());
  e.doubtful = e.doubtful || e.tokens > gate_.vouched_positions;
  if (!news) return std::nullopt;
  e.report.verdict = e.tripped ? "tripped" : gate_.verdict;
  e.report.scope = gate_.scope;
  e.report.vouched = !e.tripped && !e.doubtful && !e.report.inexact;
  update.speculation = e.report;
  if (!update.finished) return std::nullopt;
  std::optional<decline_reason> reason;
  if (auto why = declined(e)) {
    reason = why->reason;
    update.speculation->declined = why->reason;
    update.speculation->detail = std::move(why->detail);
  }
  entries_.erase(found);
  return reason;
}

}  // namespace vouch::engine
