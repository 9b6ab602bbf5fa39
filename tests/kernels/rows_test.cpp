#include <cmath>
#include <iostream>
#include <limits>

#include "kernels/elementwise.hpp"
#include "kernels/exp.hpp"
#include "kernels/log_softmax.hpp"
#include "kernels/rms_norm.hpp"
#include "kernels/rope.hpp"
#include "kernels/softmax_weights.hpp"
#include "tests/kernels/kernel_test.hpp"
#include "tests/support/row_check.hpp"

namespace vouch::kernels {
namespace {

using test::on_every_target;
using test::random_floats;
using vouch::test::first_difference;
using vouch::test::rows_are_independent;

constexpr float infinity = std::numeric_limits<float>::infinity();
constexpr int thread_counts[] = {1, 2, 3, 8};

TEST(exp, is_within_two_units_in_the_last_place) {
  for (float x = -87.3F; x < 88.7F; x += 0.00371F) {
    const double exact = std::exp(static_cast<double>(x));
    const double unit = std::ldexp(1.0, std::ilogb(exact) - 23);
    ASSERT_LE(std::abs(exp_f32(x) - exact), 2 * unit) << x;
  }
  EXPECT_EQ(exp_f32(0.0F), 1.0F);
  EXPECT_EQ(exp_f32(-0.0F), 1.0F);
  EXPECT_EQ(exp_f32(-infinity), 0.0F);
  EXPECT_EQ(exp_f32(-88.0F), 0.0F);
  EXPECT_EQ(exp_f32(infinity), infinity);
  EXPECT_EQ(exp_f32(89.0F), infinity);
  EXPECT_TRUE(std::isnan(exp_f32(std::nanf(""))));
}

TEST(rms_norm, equals_the_reference_and_keeps_the_row_contract) {
  for (std::int64_t n : {1, 15, 16, 17, 576, 1000}) {
    const auto x = random_floats(static_cast<std::size_t>(33 * n), 1, 3.0F);
    const auto weight = random_floats(static_cast<std::size_t>(n), 2);
    std::vector<float> expected(x.size());
    reference::rms_norm(x.data(), weight.data(), 1e-5F, 33, n, expected.data());
    on_every_target([&] {
      for (int threads : thread_counts) {
        thread_pool pool{threads};
        std::vector<float> y = x;  // in place
        rms_norm(y.data(), weight.data(), 1e-5F, 33, n, y.data());
        EXPECT_EQ(first_difference(expected.data(), y.data(), 33 * n), -1);
      }
      thread_pool pool{2};
      EXPECT_TRUE(rows_are_independent(
          x, n, n, [&](const float* in, std::int64_t rows, float* y) {
            rms_norm(in, weight.data(), 1e-5F, rows, n, y);
          }));
    });
    double squares = 0;
    for (std::int64_t i = 0; i < n; ++i) {
      squares += static_cast<double>(x[static_cast<std::size_t>(i)]) *
                 x[static_cast<std::size_t>(i)];
    }
    const double scale = 1 / std::sqrt(squares / static_cast<double>(n) + 1e-5);
    for (std::size_t i = 0; i < static_cast<std::size_t>(n); ++i) {
      EXPECT_NEAR(expected[i], weight[i] * (x[i] * scale), 1e-5);
    }
  }
}

TEST(rope, equals_the_reference_and_keeps_the_row_contract) {
  for (int head_dim : {8, 32, 64, 128}) {
    for (int rotary : {head_dim, head_dim / 2}) {
      const int half = rotary / 2;
      std::vector<float> frequencies;
      for (int i = 0; i < half; ++i) {
        frequencies.push_back(std::pow(
            10000.0F,
            -2.0F * static_cast<float>(i) / static_cast<float>(rotary)));
      }
      const rope_table table{frequencies, 300};
      EXPECT_EQ(table.dimensions(), rotary);
      const int heads = 3;
      const std::int64_t width = heads * head_dim;
      const auto x = random_floats(static_cast<std::size_t>(33 * width), 3);
      // Position 0 turns nothing.
      const std::int32_t at_zero = 0;
      std::vector<float> first(x.begin(), x.begin() + width);
      reference::rope(first.data(), width, 1, heads, head_dim, &at_zero, table);
      EXPECT_EQ(first_difference(first.data(), x.data(), width), -1);
      on_every_target([&] {
        thread_pool pool{2};
        std::vector<std::int32_t> positions;
        for (int r = 0; r < 33; ++r) positions.push_back(r * 9);
        auto expected = x;
        reference::rope(expected.data(), width, 33, heads, head_dim,
                        positions.data(), table);
        auto y = x;
        rope(y.data(), width, 33, heads, head_dim, positions.data(), table,
             pool);
        EXPECT_EQ(first_difference(expected.data(), y.data(), 33 * width), -1);
        const std::vector<std::int32_t> same(33, 123);
        EXPECT_TRUE(rows_are_independent(
            x, width, width,
            [&](const float* in, std::int64_t rows, float* out) {
              std::copy_n(in, rows * width, out);
              rope(out, width, rows, heads, head_dim, same.data(), table, pool);
            }));
      });
    }
  }
}

TEST(rope, turns_pairs_half_a_head_apart) {
  const float frequencies[] = {1.0F, 0.5F};
  const rope_table table{frequencies, 10, 2.0F};
  std::vector<float> x = {1, 2, 3, 4, 5};
  const std::int32_t position = 3;
  thread_pool pool{1};
  rope(x.data(), 5, 1, 1, 5, &position, table, pool);
  EXPECT_NEAR(x[0], 2 * (1 * std::cos(3.0) - 3 * std::sin(3.0)), 1e-5);
  EXPECT_NEAR(x[2], 2 * (3 * std::cos(3.0) + 1 * std::sin(3.0)), 1e-5);
  EXPECT_NEAR(x[1], 2 * (2 * std::cos(1.5) - 4 * std::sin(1.5)), 1e-5);
  EXPECT_NEAR(x[3], 2 * (4 * std::cos(1.5) + 2 * std::sin(1.5)), 1e-5);
  EXPECT_EQ(x[4], 5);
}

TEST(elementwise, equal_the_reference_in_bytes) {
  for (std::int64_t n : {1, 16, 33, 1536, 40000}) {
    const auto count = static_cast<std::size_t>(n);
    auto gate = random_floats(count, 4, 20.0F);
    const auto up = random_floats(count, 5);
    gate[0] = -200.0F;
    if (n > 2) gate[2] = 200.0F;
    std::vector<float> expected(count);
    reference::swiglu(gate.data(), up.data(), n, expected.data());
    auto sum = gate;
    reference::add(sum.data(), up.data(), n);
    on_every_target([&] {
      for (int threads : thread_counts) {
        thread_pool pool{threads};
        auto y = gate;
        swiglu(y.data(), up.data(), n, y.data());
        EXPECT_EQ(first_difference(expected.data(), y.data(), n), -1);
        y = gate;
        add(y.data(), up.data(), n);
        EXPECT_EQ(first_difference(sum.data(), y.data(), n), -1);
      }
    });
    for (std::size_t i = 0; i < count; ++i) {
      const double g = gate[i];
      EXPECT_NEAR(expected[i], g / (1 + std::exp(-g)) * up[i],
                  1e-5 * std::abs(g * up[i]) + 1e-30);
    }
  }
}

TEST(elementwise, a_nan_stays_one) {
  on_every_target([&] {
    thread_pool pool{1};
    std::vector<float> gate(40, 1.0F);
    gate[3] = std::nanf("");
    gate[38] = std::nanf("");
    const std::vector<float> up(40, 1.0F);
    swiglu(gate.data(), up.data(), 40, gate.data());
    for (std::size_t i = 0; i < 40; ++i) {
      EXPECT_EQ(std::isnan(gate[i]), i == 3 || i == 38) << i;
    }
  });
}

TEST(elementwise, a_bias_reaches_every_row_and_nothing_between) {
  const std::int64_t n = 21;
  const std::int64_t stride = 25;
  const auto bias = random_floats(21, 6);
  const auto x = random_floats(33 * 25, 7);
  auto expected = x;
  for (std::size_t r = 0; r < 33; ++r) {
    for (std::size_t i = 0; i < 21; ++i) expected[r * 25 + i] += bias[i];
  }
  auto slow = x;
  reference::add_bias(slow.data(), bias.data(), 33, n, stride);
  EXPECT_EQ(slow, expected);
  on_every_target([&] {
    thread_pool pool{2};
    auto y = x;
    add_bias(y.data(), bias.data(), 33, n, stride, pool);
    EXPECT_EQ(y, expected);
  });
}

TEST(softmax_weights, equal_the_reference_in_bytes) {
  for (std::int64_t n : {1, 15, 16, 17, 1023, 1024, 1025, 49152}) {
    auto x = random_floats(static_cast<std::size_t>(n), 61, 9.0F);
    x.front() = -std::numeric_limits<float>::infinity();
    x.back() = 40.0F;
    for (float temperature : {0.8F, 1.0F, 0.01F, 50.0F}) {
      std::vector<float> expected(x.size());
      reference::softmax_weights(x.data(), n, 40.0F, temperature,
                                 expected.data());
      const auto mass =
          reference::softmax_mass(x.data(), n, 40.0F, temperature);
      EXPECT_EQ(expected.back(), 1.0F);
      EXPECT_GE(mass, std::uint64_t{1} << 40U);
      on_every_target([&] {
        std::vector<float> y(x.size());
        softmax_weights(x.data(), n, 40.0F, temperature, y.data());
        EXPECT_EQ(vouch::test::first_difference(y.data(), expected.data(), n),
                  -1);
        EXPECT_EQ(softmax_mass(x.data(), n, 40.0F, temperature), mass);
      });
    }
  }
}

TEST(softmax_weights, a_full_row_of_the_largest_does_not_overflow) {
  const std::vector<float> x(262144, 3.0F);
  on_every_target([&] {
    EXPECT_EQ(softmax_mass(x.data(), 262144, 3.0F, 0.7F),
              std::uint64_t{262144} << 40U);
  });
}

TEST(log_sum_exp, equals_the_reference_in_bytes) {
  for (std::int64_t n : {1, 15, 16, 100, 49152}) {
    auto x = random_floats(static_cast<std::size_t>(n), 8, 5.0F);
    for (int round = 0; round < 2; ++round) {
      const float expected = reference::log_sum_exp(x.data(), n);
      double sum = 0;
      for (float v : x) sum += std::exp(static_cast<double>(v));
      EXPECT_NEAR(expected, std::log(sum), 1e-4);
      on_every_target([&] {
        const float y = log_sum_exp(x.data(), n);
        EXPECT_EQ(first_difference(&expected, &y, 1), -1);
      });
      // Masked entries count as nothing.
      for (std::size_t i = 1; i < x.size(); i += 2) x[i] = -infinity;
    }
  }
  const std::vector<float> masked(40, -infinity);
  auto broken = random_floats(40, 9);
  broken[37] = std::nanf("");
  on_every_target([&] {
    EXPECT_EQ(log_sum_exp(masked.data(), 40), -infinity);
    EXPECT_TRUE(std::isnan(log_sum_exp(broken.data(), 40)));
    std::swap(broken[37], broken[5]);
    EXPECT_TRUE(std::isnan(log_sum_exp(broken.data(), 40)));
    std::swap(broken[37], broken[5]);
  });
}

TEST(argmax, takes_the_lowest_index_and_refuses_nan) {
  on_every_target([&] {
    EXPECT_EQ(argmax(nullptr, 0), -1);
    for (std::int64_t n : {1, 7, 16, 17, 100, 4099}) {
      auto x = random_floats(static_cast<std::size_t>(n), 10);
      EXPECT_EQ(argmax(x.data(), n), reference::argmax(x.data(), n));
      for (std::int64_t first = 0; first < n; first += 3) {
        auto tied = x;
        for (std::int64_t i = first; i < n; i += 5) {
          tied[static_cast<std::size_t>(i)] = 50.0F;
        }
        EXPECT_EQ(argmax(tied.data(), n), first);
        EXPECT_EQ(reference::argmax(tied.data(), n), first);
        tied[static_cast<std::size_t>(n - 1 - first)] = std::nanf("");
        EXPECT_EQ(argmax(tied.data(), n), -1);
        EXPECT_EQ(reference::argmax(tied.data(), n), -1);
      }
      std::fill(x.begin(), x.end(), -infinity);
      EXPECT_EQ(argmax(x.data(), n), 0);
    }
    const float zeros[] = {-0.0F, 0.0F, -0.0F};
    EXPECT_EQ(argmax(zeros, 3), 0);
  });
}

TEST(dispatch, names_and_selects_targets) {
  const auto names = supported_targets();
  ASSERT_FALSE(names.empty());
  for (const auto& name : names) std::cout << "target " << name << '\n';
  EXPECT_EQ(active_target(), names.front());
  EXPECT_FALSE(select_target("no such target"));
  EXPECT_EQ(active_target(), names.front());
  ASSERT_TRUE(select_target(names.back()));
  EXPECT_EQ(active_target(), names.back());
  EXPECT_EQ(supported_targets(), names);
  ASSERT_TRUE(select_target(""));
  EXPECT_EQ(active_target(), names.front());
}

}  // namespace
}  // namespace vouch::kernels
