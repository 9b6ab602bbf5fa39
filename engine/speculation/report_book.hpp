#pragma once

#include <optional>
#include <string>
#include <unordered_map>

#include "engine/schedule/scheduler.hpp"
#include "engine/speculation/decline.hpp"
#include "engine/speculation/gate_view.hpp"
#include "engine/speculation/report.hpp"

namespace vouch::engine {

/// Keeps every sequence's speculation_report and gives it out with the
/// sequence's last update. A plain value.
class report_book {
 public:
  /// From now on. A change of verdict is in the reports of all that run.
  void set_gate(gate_view view);
  const gate_view& gate() const { return gate_; }
  /// Why nobody is drafted for; nothing where there is a drafter.
  void set_no_drafter(std::optional<decline> why);

  /// A sequence that was added; `wants`: its request did not opt out.
  void open(sequence_id id, bool wants, std::int64_t prompt_tokens);
  /// Drafts were there, but no row of them would have paid.
  void unprofitable(sequence_id id);
  /// An item of it was drawn for audit.
  void audited(sequence_id id, std::int64_t rows);
  /// A trip touches everybody that runs.
  void trip();

  /// Takes the update in; the report is in it when it is the last one, and
  /// where a block was verified. With the last one what the sequence was
  /// declined for, for a counter.
  std::optional<decline_reason> take(sequence_update& update);
  void close(sequence_id id) { entries_.erase(id); }

 private:
  struct entry {
    speculation_report report;
    bool wants = true;
    bool tripped = false;
    bool unprofitable = false;
    bool doubtful = false;
    std::int64_t tokens = 0;
  };
  std::optional<decline> declined(const entry& of) const;

  gate_view gate_;
  std::optional<decline> no_drafter_;
  std::unordered_map<sequence_id, entry> entries_;
};

}  // namespace vouch::engine
