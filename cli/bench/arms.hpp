#pragma once

#include <cstddef>
#include <functional>
#include <vector>

#include "cli/bench/spread.hpp"

namespace vouch::cli::bench {

/// Arms of an experiment, each of which differs from the first one, classic, in
/// exactly one setting. A run gives a rate.
///
/// One run of each is dropped as a warm-up. Brackets of classic runs open and
/// close the session: the spread of both together is the resolution floor,
/// below which a difference is nobody's, and brackets that do not overlap are
/// drift. Between them, rounds run every arm once, each round beginning with
/// another one, so that nothing always runs in the wake of the same arm.
class arms {
 public:
  /// The index of its rates. The first one is classic.
  std::size_t add(std::function<double()> run);

  void run(int rounds, const std::function<void(double)>& progress);

  /// One a round.
  const std::vector<double>& rates(std::size_t arm) const {
    return arms_[arm].rates;
  }
  /// Against classic in the same round.
  spread ratio(std::size_t arm) const {
    return ratios_of(arms_[arm].rates, arms_.front().rates);
  }

  const std::vector<double>& opening() const { return opening_; }
  const std::vector<double>& closing() const { return closing_; }
  /// Of both brackets: (most - least) / median.
  double floor() const;
  /// The brackets do not overlap: the machine changed meanwhile.
  bool drifted() const;
  /// The arm's difference from classic is larger than the floor.
  bool resolved(std::size_t arm) const;

 private:
  struct arm {
    std::function<double()> run;
    std::vector<double> rates;
  };
  std::vector<arm> arms_;
  std::vector<double> opening_;
  std::vector<double> closing_;
};

}  // namespace vouch::cli::bench
