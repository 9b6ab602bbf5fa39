#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "engine/gate/audit.hpp"
#include "engine/gate/evidence.hpp"
#include "engine/gate/probe.hpp"
#include "engine/gate/scope.hpp"
#include "engine/gate/snapshot.hpp"
#include "engine/gate/unit.hpp"
#include "engine/gate/verdict.hpp"
#include "engine/schedule/burst.hpp"
#include "engine/speculation/decline.hpp"

namespace vouch::engine {

struct gate_options {
  /// False: nothing is measured, no burst is engaged (but by allow_inexact),
  /// what is served is not vouched for.
  bool enabled = true;
  /// Its `known` is filled in by the gate.
  probe_options probe;
  audit_options audit;
  /// Of the time of served steps, what the probe may take of a server that is
  /// never idle.
  double probe_share = 0.1;
  /// An escape: engages bursts that the gate would decline.
  bool allow_inexact = false;
  /// An escape: kernels without the row contract (plan "fast"). Classic rows
  /// share steps whatever was measured.
  bool unconstrained = false;
};

/// Something that whoever runs the gate must know, in order.
struct gate_event {
  enum class kind : std::uint8_t {
    /// A verdict came or changed: save the table, set the rules.
    verdict,
    /// The audit found a difference. Before the next step is planned: write
    /// the evidence, save the table, set the rules, distrust what stands in
    /// caches.
    tripped,
    /// The probe has nothing left to do.
    probed,
  };
  kind what = kind::verdict;
  /// For the log.
  std::string text;
  verdict_table table;
  /// Of a trip.
  std::shared_ptr<const trip_evidence> evidence;
};

/// Decides what may be served: probe and audit, verdicts, the ladder, escapes.
/// A pure value; the GATE actor lends it memory, runs its units and tells
/// others what it says.
///
/// Memory: while need() asks for something, lend() it if it is there; after
/// every take(), give_back() what it returns. Work: next_unit() and take() in
/// turn, when nobody else wants the device, or when owed().
class gate {
 public:
  /// `stored`: the scope's verdicts from the disk, if there are any.
  gate(verdict_scope scope, std::optional<verdict_table> stored,
       gate_options options);

  /// What it would borrow now. It may be another thing at the next call: the
  /// audit's small need goes before the probe's, which may have to wait for
  /// long.
  std::optional<gate_need> need() const;
  /// A loan that fits nobody's need any more comes back at once.
  void lend(loan lent);
  std::optional<loan> give_back();
  /// Others need the memory: it comes back after at most one more unit each.
  void withdraw();

  /// There is work, if memory can be had.
  bool has_work() const;
  /// A unit may run although requests wait: its share is not used up.
  bool owed() const;
  /// Nothing: a unit is out, memory is needed, or there is nothing to do.
  std::optional<gate_unit> next_unit();
  void take(const gate_unit_result& result, std::int64_t now_ms);

  /// What may be served now.
  burst_rules rules() const;
  rung serves() const;
  /// Why a block of this width is declined; nothing: it may run. Width 0: why
  /// none may run at all.
  std::optional<decline> decline_of(int width) const;

  // The audit's side of served work.
  /// audit_draw of the scheduler.
  bool draw(const audit_candidate& item) { return audit_.draw(item); }
  /// A served step took so long.
  void served(double seconds);
  void audited(audit_record record) { audit_.add(std::move(record)); }
  void lost(std::uint64_t hold) { audit_.lost(hold); }
  /// Holds to release, since the last call.
  std::vector<std::uint64_t> take_released() { return audit_.take_released(); }

  /// Something was found to differ: closes `from` and everything faster. False:
  /// that was closed already.
  bool trip(rung from, const std::string& reason, const divergence& first,
            std::int64_t now_ms);
  /// Where the evidence of the last trip was written.
  void set_evidence(const std::string& folder);

  /// Since the last call.
  std::vector<gate_event> take_events();
  gate_snapshot snapshot() const;
  /// What the audit has done, without the rest of a snapshot.
  const audit_counts& audit_done() const { return audit_.counts(); }
  const verdict_scope& scope() const { return scope_; }
  const verdict_table& verdicts() const { return verdicts_; }
  const probe& probed() const { return *probe_; }

 private:
  enum class worker : std::uint8_t { none, probe, audit };

  void look_at_probe(std::int64_t now_ms);
  void look_at_audit(std::int64_t now_ms);
  void start_probe(const std::vector<int>& widths);
  bool probe_owed() const;
  std::int64_t burst_positions(const width_set& widths) const;

  verdict_scope scope_;
  std::string id_;
  gate_options options_;
  verdict_table verdicts_;
  std::optional<probe> probe_;
  audit audit_;
  bool probing_ = false;
  /// `batch` is in doubt: another probe measures it when this one is done.
  bool remeasure_ = false;
  worker out_ = worker::none;
  double served_ = 0.0;
  /// Of probes that were replaced.
  row_tally earlier_rows_;
  double earlier_seconds_ = 0.0;
  std::int64_t trips_ = 0;
  std::vector<gate_event> events_;
  std::vector<loan> unused_;
};

}  // namespace vouch::engine
