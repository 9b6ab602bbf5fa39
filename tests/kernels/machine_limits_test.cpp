#include "kernels/machine_limits.hpp"

#include <cmath>
#include <string>

#include <gtest/gtest.h>

#include "kernels/dispatch.hpp"

namespace vouch::kernels {
namespace {

// Between a machine of the 1980s and one of no kind: what a wrong unit, a loop
// that the compiler has left out, or a division by zero would miss.
constexpr double least_rate = 1e4;
constexpr double most_rate = 1e17;

void expect_plausible(double rate) {
  EXPECT_TRUE(std::isfinite(rate));
  EXPECT_GT(rate, least_rate);
  EXPECT_LT(rate, most_rate);
}

TEST(machine_limits, reads_are_plausible) {
  EXPECT_GE(read_probe::enough_bytes(), std::size_t{256} << 20U);
  EXPECT_LE(read_probe::enough_bytes(), std::size_t{1} << 30U);
  for (int threads : {1, 2, 3}) {
    thread_pool pool{threads};
    const read_probe probe{(std::size_t{8} << 20U) + 1, pool};
    EXPECT_EQ(probe.bytes(), std::size_t{9} << 20U);
    for (int i = 0; i < 3; ++i) expect_plausible(probe.measure(pool));
  }
}

TEST(machine_limits, a_probe_holds_something_at_least) {
  thread_pool pool{1};
  const read_probe probe{0, pool};
  EXPECT_EQ(probe.bytes(), std::size_t{1} << 20U);
  expect_plausible(probe.measure(pool));
}

TEST(machine_limits, dots_are_plausible_on_every_target) {
  thread_pool pool{2};
  for (const auto& target : supported_targets()) {
    SCOPED_TRACE(target);
    ASSERT_TRUE(select_target(target));
    expect_plausible(measure_dot_rate(pool));
    const read_probe probe{1, pool};
    expect_plausible(probe.measure(pool));
  }
  select_target("");
}

}  // namespace
}  // namespace vouch::kernels
