#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <limits>
#include <vector>

#include <gtest/gtest.h>

namespace vouch::test {

/// Position of the first of n floats whose bytes differ, -1 when none does.
inline std::int64_t first_difference(const float* a, const float* b,
                                     std::int64_t n) {
  for (std::int64_t i = 0; i < n; ++i) {
    if (std::memcmp(a + i, b + i, sizeof(float)) != 0) return i;
  }
  return -1;
}

/// Checks the row contract of an op: `op(x, rows, y)` makes `rows` rows of
/// `out` floats from as many of `in` floats. Each row of `x` is computed alone,
/// then with every number of rows up to all of them, at every position
/// (rotated), in reverse order, and with NaNs for neighbours; the bytes of its
/// result must be the same each time.
template <class Op>
testing::AssertionResult rows_are_independent(const std::vector<float>& x,
                                              std::int64_t in, std::int64_t out,
                                              Op&& op) {
  const auto rows = static_cast<std::int64_t>(x.size()) / in;
  std::vector<float> alone(static_cast<std::size_t>(rows * out));
  for (std::int64_t r = 0; r < rows; ++r) {
    op(x.data() + r * in, std::int64_t{1}, alone.data() + r * out);
  }
  // Runs the rows named by `order`, -1 meaning a row of NaNs.
  const auto check =
      [&](const std::vector<std::int64_t>& order) -> testing::AssertionResult {
    std::vector<float> input(order.size() * static_cast<std::size_t>(in),
                             std::numeric_limits<float>::quiet_NaN());
    std::vector<float> result(order.size() * static_cast<std::size_t>(out));
    for (std::size_t i = 0; i < order.size(); ++i) {
      if (order[i] < 0) continue;
      std::copy_n(x.data() + order[i] * in, in,
                  input.data() + static_cast<std::int64_t>(i) * in);
    }
    op(static_cast<const float*>(input.data()),
       static_cast<std::int64_t>(order.size()), result.data());
    for (std::size_t i = 0; i < order.size(); ++i) {
      if (order[i] < 0) continue;
      const auto at = first_difference(
          alone.data() + order[i] * out,
          result.data() + static_cast<std::int64_t>(i) * out, out);
      if (at >= 0) {
        return testing::AssertionFailure()
               << "row " << order[i] << " at position " << i << " of "
               << order.size() << " rows: output " << at
               << " differs from the row's alone";
      }
    }
    return testing::AssertionSuccess();
  };
  std::vector<std::int64_t> order;
  for (std::int64_t n = 1; n <= rows; ++n) {
    order.push_back(n - 1);
    if (auto result = check(order); !result) return result;
  }
  for (std::int64_t r = 0; r < rows; ++r) {
    std::rotate(order.begin(), order.begin() + 1, order.end());
    if (auto result = check(order); !result) return result;
  }
  std::reverse(order.begin(), order.end());
  if (auto result = check(order); !result) return result;
  for (std::size_t i = 0; i < order.size(); i += 2) order[i] = -1;
  return check(order);
}

}  // namespace vouch::test
