#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "actors/burst_setup.hpp"
#include "actors/speculation_messages.hpp"
#include "engine/executor/cost_model.hpp"
#include "engine/schedule/scheduler.hpp"
#include "engine/speculation/decline.hpp"
#include "engine/speculation/report_book.hpp"
#include "engine/speculation/speculator.hpp"
#include "engine/speculation/transcript.hpp"

namespace vouch::actors {

class metrics;

/// SCHEDULER's side of speculation: what DRAFTER has been told of each
/// sequence, what is asked of it before a step, and what is told about rounds
/// afterwards. Not an actor: SCHEDULER calls it.
class burst_desk {
 public:
  /// `costs` outlives the desk.
  burst_desk(burst_setup setup, const engine::step_cost_model& costs,
             std::shared_ptr<metrics> counters);

  /// A sequence that was added.
  void open(const engine::sequence_start& start, const std::string& request,
            std::int64_t choice);
  /// A sequence that ended without a last update.
  void close(engine::sequence_id id);

  void set_gate(engine::gate_view view, engine::scheduler& schedule);
  const engine::gate_view& gate() const { return book_.gate(); }
  /// DRAFTER is gone, or is there again.
  void set_drafter(std::optional<engine::decline> declined);

  /// What to ask DRAFTER before the next plan; nothing where nobody is to be
  /// drafted for.
  std::optional<draft_order> order(const engine::scheduler& schedule);
  /// The order is worth waiting for; otherwise the next step is planned at once
  /// and the answer, when it comes, is only judged by what the step brings.
  bool worth_waiting(const draft_order& order) const;
  /// An answer that was not waited for.
  void take_late(drafts& answer);
  /// False: an answer to an order that nobody waits for any more.
  bool take(drafts& answer, engine::scheduler& schedule);

  /// A step's updates, before they are delivered: rounds are judged and
  /// written down, last updates get their report.
  void take(std::vector<engine::sequence_update>& updates,
            const engine::scheduler& schedule);

  /// How it stands now, for operators.
  engine::speculation_status status() const;

  engine::report_book& book() { return book_; }
  const engine::speculator& speculation() const { return speculator_; }

 private:
  struct sequence {
    engine::sequence_name name;
    /// Tokens that DRAFTER knows.
    std::int64_t told = 0;
    /// The sequence's record of the transcript; written with its first burst.
    engine::transcript_sequence record;
    bool described = false;
    /// The burst in progress, counted from 0; -1: none so far.
    std::int64_t burst = -1;
    std::int64_t round = 0;
    bool in_burst = false;
    /// In force when its drafts were offered, and when its burst began.
    std::string offered_under;
    std::string burst_verdict;
    std::int64_t generated = 0;
  };

  double draft_seconds(std::int64_t rows) const;
  void write_round(sequence& s, const engine::round_report& round,
                   const engine::scheduler& schedule);

  burst_setup setup_;
  std::shared_ptr<metrics> counters_;
  engine::speculator speculator_;
  engine::report_book book_;
  std::unordered_map<engine::sequence_id, sequence> sequences_;
  std::vector<engine::sequence_id> ended_;
  std::uint64_t last_order_ = 0;
  /// Its step has ended: an answer would be of the past.
  bool order_is_over_ = false;
  /// Rows that the last order asked for.
  std::int64_t ordered_rows_ = 0;
  /// What drafting a row costs, seconds; a moving average.
  double row_seconds_ = 0.0;
};

}  // namespace vouch::actors
