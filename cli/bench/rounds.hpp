#pragma once

#include <cstddef>
#include <functional>
#include <vector>

namespace vouch::cli::bench {

/// Things that are timed by turns: one run of each is a round, so that what
/// the machine does meanwhile hits them alike.
class rounds {
 public:
  /// Runs and gives seconds (or a rate); the index of its values.
  std::size_t add(std::function<double()> run);

  /// One round that does not count, then `count` that do; every other one
  /// backwards, so that nothing always runs in the wake of the same thing.
  void run(int count, const std::function<void(double)>& progress);

  const std::vector<double>& values(std::size_t index) const {
    return series_[index].values;
  }

 private:
  struct series {
    std::function<double()> run;
    std::vector<double> values;
  };
  std::vector<series> series_;
};

}  // namespace vouch::cli::bench
