#include "actors/speculation_metrics.hpp"

#include <mutex>
#include <string>

#include <prometheus/counter.h>
#include <prometheus/gauge.h>
#include <prometheus/registry.h>

namespace vouch::actors {
namespace {

using prometheus::Counter;
using prometheus::Family;
using prometheus::Gauge;

Family<Counter>& counters(prometheus::Registry& registry, const char* name,
                          const char* help) {
  return prometheus::BuildCounter()
      .Name(std::string{"vouch_"} + name)
      .Help(help)
      .Register(registry);
}

Counter& counter(prometheus::Registry& registry, const char* name,
                 const char* help) {
  return counters(registry, name, help).Add({});
}

Family<Gauge>& gauges(prometheus::Registry& registry, const char* name,
                      const char* help) {
  return prometheus::BuildGauge()
      .Name(std::string{"vouch_"} + name)
      .Help(help)
      .Register(registry);
}

double number_of(const engine::verdict& of) {
  if (of.equal()) return 1.0;
  return of.wrong() ? -1.0 : 0.0;
}

/// A count that may start anew, with a new gate.
template <class Number>
void grow(Counter& counter, Number before, Number now) {
  counter.Increment(static_cast<double>(now >= before ? now - before : now));
}

}  // namespace

struct speculation_metrics::impl {
  explicit impl(prometheus::Registry& registry)
      : rounds{counters(registry, "speculation_rounds_total",
                        "Verify blocks, by the rows they had.")},
        drafts{counter(registry, "speculation_draft_tokens_total",
                       "Drafts that were verified.")},
        accepted{counter(registry, "speculation_accepted_tokens_total",
                         "Drafts that were verified and became text.")},
        emitted{counter(registry, "speculation_emitted_tokens_total",
                        "Tokens that verify blocks gave, drafts and picks.")},
        accepted_at{
            counters(registry, "speculation_accepted_tokens_per_pos_total",
                     "Drafts that became text, by their index in the block.")},
        declines{counters(registry, "speculation_declines_total",
                          "Requests, or rounds of them, that went on "
                          "classically, by reason.")},
        draft_seconds{counter(registry, "draft_seconds_total",
                              "Time that the drafter ran.")},
        verdicts{gauges(registry, "gate_verdict",
                        "Verdict by width (alone, batch, or a block's rows): "
                        "1 equal, 0 not run, -1 diverges or tripped.")},
        rungs{gauges(registry, "gate_rung", "1 for what is served now.")},
        probe_rows{counter(registry, "gate_probe_rows_total",
                           "Logits rows that the probe compared.")},
        trips{counter(registry, "gate_trips_total",
                      "Differences that the audit found in what was served.")},
        audit_rows{counters(registry, "audit_rows_total",
                            "Rows that the audit compared, by what they were "
                            "and how they compared.")},
        audit_dropped{counter(registry, "audit_dropped_total",
                              "Draws that the audit could not compare.")},
        audit_seconds{
            counter(registry, "audit_seconds_total", "Time that it took.")} {
    for (int kind = 0; kind < engine::audit_kinds; ++kind) {
      for (int result = 0; result < engine::audit_results; ++result) {
        audited(kind, result);
      }
    }
    for (int i = 0; i < engine::decline_reasons; ++i) {
      decline(static_cast<engine::decline_reason>(i));
    }
  }

  Counter& decline(engine::decline_reason reason) {
    return declines.Add({{"reason", std::string{engine::name_of(reason)}}});
  }

  Counter& audited(int kind, int result) {
    const auto of = static_cast<engine::audit_kind>(kind);
    const auto how = static_cast<engine::audit_result>(result);
    return audit_rows.Add({{"kind", std::string{engine::name_of(of)}},
                           {"result", std::string{engine::name_of(how)}}});
  }

  Family<Counter>& rounds;
  Counter& drafts;
  Counter& accepted;
  Counter& emitted;
  Family<Counter>& accepted_at;
  Family<Counter>& declines;
  Counter& draft_seconds;
  Family<Gauge>& verdicts;
  Family<Gauge>& rungs;
  Counter& probe_rows;
  Counter& trips;
  Family<Counter>& audit_rows;
  Counter& audit_dropped;
  Counter& audit_seconds;

  std::mutex mutex;
  // Guarded by mutex: what is counted already.
  engine::gate_snapshot last;
};

speculation_metrics::speculation_metrics(prometheus::Registry& registry)
    : impl_{std::make_unique<impl>(registry)} {}

speculation_metrics::~speculation_metrics() = default;

void speculation_metrics::round(const engine::round_report& report) {
  if (report.drafts.empty()) return;
  const auto& outcome = report.outcome;
  impl_->rounds.Add({{"width", std::to_string(report.drafts.size() + 1)}})
      .Increment();
  impl_->drafts.Increment(static_cast<double>(report.drafts.size()));
  impl_->accepted.Increment(outcome.accepted_emitted);
  impl_->emitted.Increment(static_cast<double>(outcome.emitted.size()));
  for (int i = 0; i < outcome.accepted_emitted; ++i) {
    impl_->accepted_at.Add({{"position", std::to_string(i)}}).Increment();
  }
}

void speculation_metrics::declined(engine::decline_reason reason) {
  impl_->decline(reason).Increment();
}

void speculation_metrics::drafted(double seconds) {
  impl_->draft_seconds.Increment(seconds);
}

void speculation_metrics::gate(const engine::gate_snapshot& now) {
  const std::lock_guard lock{impl_->mutex};
  const auto show = [&](const std::string& width, const engine::verdict& of) {
    impl_->verdicts.Add({{"width", width}}).Set(number_of(of));
  };
  show("alone", now.verdicts.alone);
  show("batch", now.verdicts.batch);
  for (const auto& [width, verdict] : now.verdicts.widths) {
    show(std::to_string(width), verdict);
  }
  for (const auto rung : {engine::rung::burst, engine::rung::batched,
                          engine::rung::alone, engine::rung::unvouched}) {
    impl_->rungs.Add({{"rung", std::string{engine::name_of(rung)}}})
        .Set(rung == now.serves ? 1.0 : 0.0);
  }
  const auto& last = impl_->last;
  grow(impl_->probe_rows, last.probe_rows, now.probe_rows);
  grow(impl_->trips, last.trips, now.trips);
  for (int kind = 0; kind < engine::audit_kinds; ++kind) {
    for (int result = 0; result < engine::audit_results; ++result) {
      const auto k = static_cast<std::size_t>(kind);
      const auto r = static_cast<std::size_t>(result);
      grow(impl_->audited(kind, result), last.audit.rows.at(k).at(r),
           now.audit.rows.at(k).at(r));
    }
  }
  grow(impl_->audit_dropped, last.audit.dropped, now.audit.dropped);
  grow(impl_->audit_seconds, last.audit.seconds, now.audit.seconds);
  impl_->last = now;
}

}  // namespace vouch::actors
