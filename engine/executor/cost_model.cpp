#include "engine/executor/cost_model.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <iterator>
#include <utility>

namespace vouch::engine {

namespace {

/// What of an error a step that was served corrects.
constexpr double learning_rate = 0.1;
/// The largest error that is believed, as a share of the guess.
constexpr double believed_error = 0.5;

/// Neighbours that fall become their mean, until none falls.
void pool_adjacent_violators(std::vector<cost_curve::knot>& knots) {
  struct pool {
    double sum;
    std::size_t count;
    double mean() const { return sum / static_cast<double>(count); }
  };
  std::vector<pool> pools;
  for (const auto& each : knots) {
    pools.push_back({each.seconds, 1});
    while (pools.size() > 1 &&
           pools[pools.size() - 2].mean() > pools.back().mean()) {
      const pool last = pools.back();
      pools.pop_back();
      pools.back().sum += last.sum;
      pools.back().count += last.count;
    }
  }
  std::size_t next = 0;
  for (const auto& each : pools) {
    for (std::size_t i = 0; i < each.count; ++i) {
      knots[next++].seconds = each.mean();
    }
  }
}

}  // namespace

cost_curve::cost_curve(std::vector<knot> measured) {
  std::stable_sort(
      measured.begin(), measured.end(),
      [](const knot& a, const knot& b) { return a.rows < b.rows; });
  for (const auto& each : measured) {
    if (each.rows < 1 || !std::isfinite(each.seconds) || each.seconds < 0.0) {
      continue;
    }
    if (!knots_.empty() && knots_.back().rows == each.rows) {
      knots_.back() = each;
    } else {
      knots_.push_back(each);
    }
  }
  pool_adjacent_violators(knots_);
}

double cost_curve::at(std::int64_t rows) const {
  if (rows < 1 || knots_.empty()) {
    return 0.0;
  }
  const auto above = std::lower_bound(
      knots_.begin(), knots_.end(), rows,
      [](const knot& each, std::int64_t count) { return each.rows < count; });
  if (above == knots_.begin()) {
    return above->seconds;
  }
  if (above == knots_.end() && knots_.size() == 1) {
    return knots_.front().seconds * static_cast<double>(rows) /
           static_cast<double>(knots_.front().rows);
  }
  const auto& to = above == knots_.end() ? knots_.back() : *above;
  const auto& from = *std::prev(above, above == knots_.end() ? 2 : 1);
  const double share = static_cast<double>(rows - from.rows) /
                       static_cast<double>(to.rows - from.rows);
  return from.seconds + share * (to.seconds - from.seconds);
}

void cost_curve::extend(std::int64_t rows) {
  while (!knots_.empty() && knots_.back().rows < rows) {
    const auto next = std::min(2 * knots_.back().rows, rows);
    knots_.push_back({next, at(next)});
  }
}

void cost_curve::move(std::int64_t rows, double change) {
  if (rows < 1 || knots_.empty()) {
    return;
  }
  // The curve at `rows` is a weighted sum of knots: weight * change / (sum of
  // squared weights) to each is the smallest move that gives the change.
  std::size_t upper = 0;
  while (upper + 1 < knots_.size() && knots_[upper].rows < rows) {
    ++upper;
  }
  const std::size_t lower =
      upper > 0 && knots_[upper].rows > rows ? upper - 1 : upper;
  const auto set = [this](std::size_t index, double by) {
    knots_[index].seconds = std::max(0.0, knots_[index].seconds + by);
  };
  if (lower == upper) {
    // Behind the last knot the line's slope moves with it.
    const auto& knot = knots_[upper];
    if (rows > knot.rows && upper > 0) {
      change /=
          1.0 + static_cast<double>(rows - knot.rows) /
                    static_cast<double>(knot.rows - knots_[upper - 1].rows);
    }
    set(upper, change);
  } else {
    const double share =
        static_cast<double>(rows - knots_[lower].rows) /
        static_cast<double>(knots_[upper].rows - knots_[lower].rows);
    const double norm = share * share + (1.0 - share) * (1.0 - share);
    set(lower, change * (1.0 - share) / norm);
    set(upper, change * share / norm);
    knots_[upper].seconds =
        std::max(knots_[upper].seconds, knots_[lower].seconds);
  }
  for (std::size_t i = lower; i-- > 0;) {
    knots_[i].seconds = std::min(knots_[i].seconds, knots_[i + 1].seconds);
  }
  for (std::size_t i = upper + 1; i < knots_.size(); ++i) {
    knots_[i].seconds = std::max(knots_[i].seconds, knots_[i - 1].seconds);
  }
}

step_cost_model::step_cost_model(std::vector<cost_curve::knot> bodies,
                                 std::vector<cost_curve::knot> whole,
                                 std::int64_t most_rows) {
  if (bodies.empty()) {
    body_ = cost_curve{std::move(whole)};
  } else {
    body_ = cost_curve{std::move(bodies)};
    for (auto& each : whole) {
      each.seconds = std::max(0.0, each.seconds - body_.at(each.rows));
    }
    head_ = cost_curve{std::move(whole)};
  }
  measured_bodies_ = body_.empty() ? 0 : body_.knots().back().rows;
  measured_whole_ = head_.empty() ? 0 : head_.knots().back().rows;
  body_.extend(most_rows);
  head_.extend(most_rows);
}

double step_cost_model::seconds(std::int64_t rows,
                                std::int64_t logits_rows) const {
  return body_.at(rows) + head_.at(std::min(rows, logits_rows));
}

void step_cost_model::observe(std::int64_t rows, std::int64_t logits_rows,
                              double seconds) {
  logits_rows = std::min(rows, logits_rows);
  const double body = body_.at(rows);
  const double guess = body + head_.at(logits_rows);
  if (guess <= 0.0 || !std::isfinite(seconds) || seconds <= 0.0) {
    return;
  }
  const double most = believed_error * guess;
  const double change =
      learning_rate * std::clamp(seconds - guess, -most, most);
  const double share = body / guess;
  body_.move(rows, share * change);
  head_.move(logits_rows, (1.0 - share) * change);
}

std::vector<std::int64_t> step_cost_model::row_counts() const {
  std::vector<std::int64_t> counts;
  for (const auto* curve : {&body_, &head_}) {
    for (const auto& each : curve->knots()) {
      counts.push_back(each.rows);
    }
  }
  std::sort(counts.begin(), counts.end());
  counts.erase(std::unique(counts.begin(), counts.end()), counts.end());
  return counts;
}

std::string step_cost_model::text() const {
  std::string line;
  const auto add = [&line](std::int64_t rows, double seconds,
                           const char* before) {
    char entry[64];
    std::snprintf(entry, sizeof entry, "%s%lld: %.2f", before,
                  static_cast<long long>(rows), 1e3 * seconds);
    line += entry;
  };
  for (const auto& each : head_.knots()) {
    if (each.rows <= measured_whole_) {
      add(each.rows, seconds(each.rows, each.rows), line.empty() ? "" : ", ");
    }
  }
  const char* before = line.empty() ? "" : "; without logits ";
  for (const auto& each : body_.knots()) {
    if (each.rows <= measured_bodies_) {
      add(each.rows, each.seconds, before);
      before = ", ";
    }
  }
  return line;
}

}  // namespace vouch::engine
