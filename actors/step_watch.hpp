#pragma once

#include <algorithm>
#include <cstdint>
#include <deque>

namespace vouch::actors {

/// Judges whether the oldest step in flight takes longer than it may: 60
/// seconds or 20 times the usual, whichever is more. A value; time is passed
/// in.
class step_watch {
 public:
  void submitted(std::int64_t now_ms) {
    if (in_flight_.empty()) {
      oldest_since_ms_ = now_ms;
    }
    in_flight_.push_back(now_ms);
  }

  void completed(std::int64_t now_ms) {
    if (in_flight_.empty()) {
      return;
    }
    const auto took = static_cast<double>(now_ms - oldest_since_ms_);
    usual_ms_ = usual_ms_ == 0 ? took : 0.9 * usual_ms_ + 0.1 * took;
    in_flight_.pop_front();
    // The next one ran no earlier than this.
    oldest_since_ms_ = now_ms;
  }

  bool on_time(std::int64_t now_ms) const {
    return in_flight_.empty() ||
           static_cast<double>(now_ms - oldest_since_ms_) <=
               std::max(60'000.0, 20.0 * usual_ms_);
  }

 private:
  std::deque<std::int64_t> in_flight_;
  std::int64_t oldest_since_ms_ = 0;
  double usual_ms_ = 0;
};

}  // namespace vouch::actors
