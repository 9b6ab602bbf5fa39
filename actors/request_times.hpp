#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <vector>

#include "actors/metrics.hpp"

namespace vouch::actors {

/// Turns the moments of a request's life into histograms. All times are
/// milliseconds (fractions kept) of one clock.
class request_times {
 public:
  request_times(std::shared_ptr<metrics> counters, double now)
      : counters_(std::move(counters)), arrived_(now) {}

  /// The checks have passed: so many choices follow.
  void started(std::size_t choices) { choices_.resize(choices); }

  void submitted(double now) { submitted_ = now; }
  /// The first choice got its slot, at a whole millisecond of the scheduler's
  /// clock: within the first one that would be before the submission.
  void admitted(double at) {
    admitted_ = std::max(at, submitted_);
    counters_->queue_time(seconds(submitted_, admitted_));
  }
  /// `count` tokens of a choice arrived together.
  void emitted(std::size_t index, std::size_t count, double now) {
    auto& choice = choices_[index];
    if (count == 0) {
      return;
    }
    if (choice.tokens == 0) {
      choice.first = now;
      if (!any_) {
        any_ = true;
        counters_->time_to_first_token(seconds(arrived_, now));
        if (admitted_ >= 0) {
          counters_->prefill_time(seconds(admitted_, now));
        }
      }
    } else {
      counters_->inter_token_latency(seconds(choice.last, now));
    }
    choice.last = now;
    choice.tokens += count;
  }
  void choice_ended(std::size_t index) {
    const auto& choice = choices_[index];
    if (choice.tokens > 1) {
      const auto took = seconds(choice.first, choice.last);
      counters_->decode_time(took);
      counters_->time_per_output_token(took /
                                       static_cast<double>(choice.tokens - 1));
    }
  }
  void finished(double now) {
    counters_->request_latency(seconds(arrived_, now));
  }

 private:
  struct moments {
    double first = 0;
    double last = 0;
    std::size_t tokens = 0;
  };
  static double seconds(double from, double to) { return (to - from) / 1000; }

  std::shared_ptr<metrics> counters_;
  double arrived_ = 0;
  double submitted_ = 0;
  double admitted_ = -1;
  bool any_ = false;
  std::vector<moments> choices_;
};

}  // namespace vouch::actors
