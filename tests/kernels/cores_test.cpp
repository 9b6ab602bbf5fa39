#include "kernels/cores.hpp"

#include <algorithm>
#include <stdexcept>
#include <string>

#include <gtest/gtest.h>

namespace vouch::kernels {
namespace {

const std::vector<int> eight{0, 1, 2, 3, 4, 5, 6, 7};

std::string refusal(const std::string& text, const std::vector<int>& allowed) {
  try {
    parse_cpu_list(text, allowed);
  } catch (const std::invalid_argument& error) {
    return error.what();
  }
  return "accepted";
}

TEST(cpu_list, keeps_the_order_written) {
  EXPECT_EQ(parse_cpu_list("0", eight), (std::vector{0}));
  EXPECT_EQ(parse_cpu_list("0-3,6", eight), (std::vector{0, 1, 2, 3, 6}));
  EXPECT_EQ(parse_cpu_list("5,1,2-2,0", eight), (std::vector{5, 1, 2, 0}));
}

TEST(cpu_list, says_what_is_wrong) {
  const std::string shape = "expected a CPU's number or a range such as 0-3";
  EXPECT_EQ(refusal("", eight), "'': " + shape);
  EXPECT_EQ(refusal("0,", eight), "'': " + shape);
  EXPECT_EQ(refusal("0,,1", eight), "'': " + shape);
  EXPECT_EQ(refusal("a", eight), "'a': " + shape);
  EXPECT_EQ(refusal("1-", eight), "'1-': " + shape);
  EXPECT_EQ(refusal("-1", eight), "'-1': " + shape);
  EXPECT_EQ(refusal("0- 1", eight), "'0- 1': " + shape);
  EXPECT_EQ(refusal("1-2-3", eight), "'1-2-3': " + shape);
  EXPECT_EQ(refusal("99999999999", eight), "'99999999999': " + shape);
  EXPECT_EQ(refusal("3-1", eight), "'3-1': the range runs backwards");
  EXPECT_EQ(refusal("0-2,2", eight), "'2': CPU 2 is named twice");
  EXPECT_EQ(refusal("6-9", eight),
            "'6-9': CPU 8 is not one this process may use (0-7)");
  // A range nobody could list is refused at its first CPU that is not there.
  EXPECT_EQ(refusal("0-2147483647", {0, 2, 3, 5}),
            "'0-2147483647': CPU 1 is not one this process may use (0,2-3,5)");
}

TEST(cores, pins_and_lets_go) {
  const auto before = allowed_cpus();
  ASSERT_FALSE(before.empty());
  EXPECT_TRUE(std::is_sorted(before.begin(), before.end()));
  {
    const scoped_pin none{-1};
    EXPECT_EQ(allowed_cpus(), before);
    const scoped_pin pin{before.back()};
    EXPECT_EQ(allowed_cpus(), std::vector{before.back()});
    EXPECT_EQ(available_cores(), 1);
  }
  EXPECT_EQ(allowed_cpus(), before);
  EXPECT_THROW(pin_this_thread({16000}), std::system_error);
}

}  // namespace
}  // namespace vouch::kernels
