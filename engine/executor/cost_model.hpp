#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace vouch::engine {

/// Seconds by a count of rows: straight lines between knots, never falling.
class cost_curve {
 public:
  struct knot {
    std::int64_t rows = 0;
    double seconds = 0.0;
  };

  cost_curve() = default;
  /// From measurements in any order (the last of equal counts stays; those
  /// without rows or with an impossible time are left out). Where more rows
  /// were faster, both get their mean: the least squares fit that does not
  /// fall (pool adjacent violators).
  explicit cost_curve(std::vector<knot> measured);

  bool empty() const { return knots_.empty(); }
  const std::vector<knot>& knots() const { return knots_; }

  /// 0 for no rows. Below the first knot as much as there; behind the last one
  /// along the last line, with a single knot in proportion to the rows.
  double at(std::int64_t rows) const;
  /// Adds knots that double the rows up to `rows`, on the curve.
  void extend(std::int64_t rows);
  /// Moves the curve by `change` at `rows`, by moving the knots around it;
  /// others follow as far as they must for it not to fall.
  void move(std::int64_t rows, double change);

 private:
  std::vector<knot> knots_;
};

/// What a step costs on the device that was measured, for whoever decides how
/// many rows a step should have. A step is a body, which all its rows go
/// through, and a head, which rows with logits go through as well: a prefill
/// chunk has logits on one row or none, decode and verify rows on every one.
///
/// A plain value: measure_step_costs makes it, steps that were served keep it
/// true. Contexts are no part of it; their cost comes in with observe().
class step_cost_model {
 public:
  /// Knows nothing; every answer is 0.
  step_cost_model() = default;
  /// `bodies`: steps without logits; `whole`: steps with logits and picks on
  /// every row. Steps of up to `most_rows` rows will be observed.
  step_cost_model(std::vector<cost_curve::knot> bodies,
                  std::vector<cost_curve::knot> whole, std::int64_t most_rows);

  bool empty() const { return body_.empty(); }

  /// Seconds of a step of `rows` rows, `logits_rows` of them with logits; never
  /// falls when either grows. logits_rows beyond rows counts as rows.
  double seconds(std::int64_t rows, std::int64_t logits_rows) const;

  /// A step was served. A tenth of what the model was off by goes into it, and
  /// of an error of more than half its guess only that half: one step that the
  /// machine held up moves it by 5 %, a machine that has become slower is
  /// followed in some dozens of steps.
  void observe(std::int64_t rows, std::int64_t logits_rows, double seconds);

  /// The row counts that the model has knots at, ascending.
  std::vector<std::int64_t> row_counts() const;
  /// Of the row counts that were measured, in ms:
  /// "1: 3.20, 2: 3.61, 4: 4.89; without logits 1: 2.31, 8: 5.72".
  std::string text() const;

 private:
  cost_curve body_;
  cost_curve head_;
  /// The largest row counts that were measured; behind them the lines go on.
  std::int64_t measured_bodies_ = 0;
  std::int64_t measured_whole_ = 0;
};

}  // namespace vouch::engine
