#include "actors/speculation_metrics.hpp"

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
                              "Time that the drafter ran.")} {
    for (int i = 0; i < engine::decline_reasons; ++i) {
      decline(static_cast<engine::decline_reason>(i));
    }
  }

  Counter& decline(engine::decline_reason reason) {
    return declines.Add({{"reason", std::string{engine::name_of(reason)}}});
  }

  Family<Counter>& rounds;
  Counter& drafts;
  Counter& accepted;
  Counter& emitted;
  Family<Counter>& accepted_at;
  Family<Counter>& declines;
  Counter& draft_seconds;
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

}  // namespace vouch::actors
