#pragma once

#include <vector>

namespace vouch::cli::bench {

/// Median, least and most of some rounds.
struct spread {
  double median = 0.0;
  double least = 0.0;
  double most = 0.0;
};

/// Of at least one value; the median of an even count is the mean of the two
/// in the middle.
spread spread_of(std::vector<double> values);

/// Of values[i] / others[i]: neighbours in time, so that a machine that drifts
/// drifts in both. Equal sizes.
spread ratios_of(const std::vector<double>& values,
                 const std::vector<double>& others);

/// Of scale / value: seconds to rates.
spread inverse(const spread& of, double scale);

/// Of scale * value.
spread scaled(const spread& of, double scale);

}  // namespace vouch::cli::bench
