#include "cli/bench/spread.hpp"

#include <algorithm>
#include <cstddef>

namespace vouch::cli::bench {

spread spread_of(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  const std::size_t middle = values.size() / 2;
  const double median = values.size() % 2 == 1
                            ? values[middle]
                            : (values[middle - 1] + values[middle]) / 2.0;
  return {median, values.front(), values.back()};
}

spread ratios_of(const std::vector<double>& values,
                 const std::vector<double>& others) {
  std::vector<double> ratios;
  ratios.reserve(values.size());
  for (std::size_t i = 0; i < values.size(); ++i) {
    ratios.push_back(values[i] / others[i]);
  }
  return spread_of(std::move(ratios));
}

spread inverse(const spread& of, double scale) {
  return {scale / of.median, scale / of.most, scale / of.least};
}

spread scaled(const spread& of, double scale) {
  return {scale * of.median, scale * of.least, scale * of.most};
}

}  // namespace vouch::cli::bench
