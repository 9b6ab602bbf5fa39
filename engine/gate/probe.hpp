#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "engine/gate/arm_run.hpp"
#include "engine/gate/probe_plan.hpp"
#include "engine/gate/replay.hpp"
#include "engine/gate/row_compare.hpp"
#include "engine/gate/unit.hpp"
#include "engine/gate/verdict.hpp"

namespace vouch::engine {

/// One scenario that was played: a line of the probe's table.
struct probe_line {
  /// "alone", "batch", or widths: "4", "2 3 4".
  std::string covers;
  std::string scenario;
  /// Patterns of its drafts: "alternating mixed".
  std::string patterns;
  std::int64_t sequences = 0;
  std::int64_t positions = 0;
  row_tally tally;
  std::int64_t preemptions = 0;
  std::int64_t cache_hits = 0;
  std::optional<divergence> first;
  /// Not empty: it ran but showed nothing ("no draft was rejected").
  std::string showed_nothing;
  /// On the device.
  double seconds = 0.0;
};

/// Measures whether every way to serve gives the bytes that the classic arm
/// gives: prompts computed as served and one row a step, one sequence alone.
/// Both arms are played by the functions that serve.
///
/// A state machine: borrow need(), lend() it, then next() and take() in turn.
/// Verdicts come one by one, `alone` and `batch` first, then width by width;
/// later stages raise how far they reach. No clock, thread or randomness of
/// its own: the same options and results give the same units.
class probe {
 public:
  explicit probe(probe_options options);

  /// What to borrow before next() can go on; nothing: it has what it needs, or
  /// is done.
  std::optional<gate_need> need() const;
  void lend(loan lent);
  /// Nothing while a unit is out, while a loan is needed, or when done.
  std::optional<gate_unit> next();
  void take(const gate_unit_result& result, std::int64_t now_ms);
  /// What is not needed any more; ask after every take().
  std::optional<loan> give_back();
  /// The memory is needed elsewhere: after one more unit the loan comes back,
  /// and the scenario that was under way is played again later.
  void withdraw();

  /// Other verdicts than it found: what is tripped there is not tried here.
  void overrule(const verdict_table& verdicts) { verdicts_ = verdicts; }

  bool done() const { return stage_ >= plan_.stages.size() && !holding_; }
  const verdict_table& verdicts() const { return verdicts_; }
  const std::vector<probe_line>& lines() const { return lines_; }
  /// All rows compared so far.
  const row_tally& total() const { return total_; }
  /// The same, by pattern of the sequence.
  const std::map<draft_pattern, row_tally>& by_pattern() const {
    return by_pattern_;
  }
  double seconds() const { return seconds_; }

 private:
  struct progress {
    row_tally tally;
    std::string showed_nothing;
  };

  const probe_task& task() const { return plan_.stages[stage_].tasks[task_]; }
  bool skipped(const probe_task& each) const;
  void begin_task();
  void end_task(std::int64_t now_ms);
  void next_stage();
  void pass_stages();
  bool vouched(int key) const;
  void differs(const row_mismatch& at, std::int64_t now_ms);
  void begin_detail(const row_mismatch& at);
  void end_detail();
  int key_of(const row_mismatch& at) const;
  void close_keys(std::int64_t now_ms);
  std::string nothing_shown(const probe_task& of, const arm_run& run,
                            const std::map<int, row_tally>& tallies) const;
  std::optional<gate_unit> next_detail();
  void take_detail(const gate_unit_result& result);
  bool random_left() const;

  probe_options options_;
  probe_plan plan_;
  std::mt19937_64 random_;
  verdict_table verdicts_;
  std::vector<probe_line> lines_;
  row_tally total_;
  std::map<draft_pattern, row_tally> by_pattern_;
  double seconds_ = 0.0;

  std::size_t stage_ = 0;
  std::size_t task_ = 0;
  bool holding_ = false;
  bool withdrawn_ = false;
  /// Set by withdraw() until the slots were released.
  bool releasing_ = false;
  bool out_ = false;
  loan_map map_;
  std::optional<loan> spare_;

  std::optional<arm_run> run_;
  std::optional<row_compare> compare_;
  std::optional<row_mismatch> first_;
  /// Why the scenario could not be played to its end.
  std::string broken_;
  double task_seconds_ = 0.0;
  /// Since the stage began, by key.
  std::map<int, progress> progress_;

  // Counting the bytes of the first row that differs.
  enum class detail : std::uint8_t { none, again, classic, closing };
  detail detail_ = detail::none;
  scheduler::planned_step again_;
  std::optional<replay> classic_;
  std::vector<std::byte> here_;
};

}  // namespace vouch::engine
