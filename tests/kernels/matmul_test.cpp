#include "kernels/matmul.hpp"

#include <cmath>

#include "kernels/dequantize.hpp"
#include "tests/kernels/kernel_test.hpp"
#include "tests/support/row_check.hpp"

namespace vouch::kernels {
namespace {

using test::on_every_target;
using test::random_floats;
using test::random_rows;

std::vector<float> multiply(const packed_weights& w, const float* x,
                            std::int64_t rows, thread_pool& pool,
                            kernel_plan plan = kernel_plan::invariant) {
  activations input;
  input.set_plan(plan);
  input.assign(x, rows, w.in(), wants_quantized_activations(w.type()), pool);
  std::vector<float> y(static_cast<std::size_t>(rows * w.out()));
  matmul(w, input, y.data(), w.out(), pool);
  return y;
}

class matmul_of : public testing::TestWithParam<dtype> {
 protected:
  dtype type() const { return GetParam(); }
  /// Two blocks of the type at least, or an odd number of inputs.
  std::int64_t in() const {
    if (!is_quantized(type())) return 77;
    return traits(type()).block_elements == 256 ? 512 : 96;
  }
};

TEST_P(matmul_of, equals_the_reference_in_bytes_on_every_target) {
  thread_pool pool{2};
  for (std::int64_t out : {1, 15, 16, 17, 100}) {
    for (std::int64_t rows : {1, 2, 3, 4, 5, 8, 13, 70}) {
      const auto weights = random_rows(type(), out, in(), 7);
      const auto x =
          random_floats(static_cast<std::size_t>(rows * in()), 8, 2.0F);
      const auto n = static_cast<std::size_t>(rows * out);
      std::vector<float> expected(n);
      reference::matmul(type(), weights.data(), out, in(), x.data(), rows,
                        expected.data(), out);
      on_every_target([&] {
        const auto w =
            packed_weights::pack(type(), weights.data(), out, in(), pool);
        EXPECT_EQ(w.out(), out);
        EXPECT_EQ(w.in(), in());
        const auto y = multiply(w, x.data(), rows, pool);
        EXPECT_EQ(vouch::test::first_difference(expected.data(), y.data(),
                                                static_cast<std::int64_t>(n)),
                  -1)
            << out << " outputs, " << rows << " rows";
      });
    }
  }
}

/// By both plans; `fast` is another kernel from 8 rows on.
TEST_P(matmul_of, is_near_the_exact_product) {
  const std::int64_t out = 64;
  const std::int64_t rows = fast_plan_rows;
  const std::int64_t n = in() * 2;
  const auto weights = random_rows(type(), out, n, 17);
  const auto x = random_floats(static_cast<std::size_t>(rows * n), 18);
  std::vector<float> wide(static_cast<std::size_t>(out * n));
  dequantize(type(), weights.data(), out * n, wide.data());
  thread_pool pool{1};
  const auto w = packed_weights::pack(type(), weights.data(), out, n, pool);
  const auto near = [&](const std::vector<float>& y) {
    // Rounding x to 8 bits moves it by up to max |x| / 254, uniformly: the
    // output moves by about that times |w| / sqrt(3).
    const double step = is_quantized(type()) ? 4.0 / 254 : 1e-6;
    for (std::int64_t r = 0; r < rows; ++r) {
      for (std::int64_t o = 0; o < out; ++o) {
        double exact = 0;
        double norm = 0;
        for (std::int64_t i = 0; i < n; ++i) {
          const double v = wide[static_cast<std::size_t>(o * n + i)];
          exact += v * x[static_cast<std::size_t>(r * n + i)];
          norm += v * v;
        }
        EXPECT_NEAR(y[static_cast<std::size_t>(r * out + o)], exact,
                    4 * step * std::sqrt(norm));
      }
    }
  };
  near(multiply(w, x.data(), rows, pool));
  near(multiply(w, x.data(), rows, pool, kernel_plan::fast));
}

TEST_P(matmul_of, fast_equals_its_reference_in_bytes_on_every_target) {
  thread_pool pool{2};
  // More blocks than share a scale, and a rest.
  const std::int64_t n = is_quantized(type()) && in() < 256 ? 352 : 2 * in();
  const std::int64_t out = 37;
  for (std::int64_t rows : {1, 7, 8, 11, 70}) {
    const auto weights = random_rows(type(), out, n, 37);
    auto x = random_floats(static_cast<std::size_t>(rows * n), 38, 2.0F);
    std::fill_n(x.data(), n, rows > 8 ? 1e-38F : 3e30F);
    std::vector<float> expected(static_cast<std::size_t>(rows * out));
    reference::matmul(type(), weights.data(), out, n, x.data(), rows,
                      expected.data(), out, kernel_plan::fast);
    on_every_target([&] {
      const auto w = packed_weights::pack(type(), weights.data(), out, n, pool);
      const auto y = multiply(w, x.data(), rows, pool, kernel_plan::fast);
      EXPECT_EQ(
          vouch::test::first_difference(expected.data(), y.data(), rows * out),
          -1)
          << rows << " rows";
    });
  }
}

/// The gate has to have something to catch.
TEST_P(matmul_of, fast_breaks_the_row_contract_from_eight_rows_on) {
  const std::int64_t out = 40;
  const auto weights = random_rows(type(), out, in(), 9);
  const auto x = random_floats(static_cast<std::size_t>(16 * in()), 10);
  on_every_target([&] {
    thread_pool pool{2};
    const auto w =
        packed_weights::pack(type(), weights.data(), out, in(), pool);
    const auto contract = [&](std::int64_t rows) {
      return vouch::test::rows_are_independent(
          {x.begin(), x.begin() + rows * in()}, in(), out,
          [&](const float* input, std::int64_t count, float* y) {
            const auto result =
                multiply(w, input, count, pool, kernel_plan::fast);
            std::copy(result.begin(), result.end(), y);
          });
    };
    EXPECT_TRUE(contract(fast_plan_rows - 1));
    EXPECT_EQ(contract(fast_plan_rows), !is_quantized(type()));
    EXPECT_EQ(contract(16), !is_quantized(type()));
  });
}

TEST_P(matmul_of, fast_hands_on_nans_and_infinities_of_its_own_row_only) {
  const std::int64_t out = 20;
  const auto weights = random_rows(type(), out, in(), 15);
  auto x = random_floats(static_cast<std::size_t>(9 * in()), 16);
  x[static_cast<std::size_t>(in() + 5)] = std::nanf("");
  x[static_cast<std::size_t>(2 * in() + 1)] = HUGE_VALF;
  on_every_target([&] {
    thread_pool pool{1};
    const auto w =
        packed_weights::pack(type(), weights.data(), out, in(), pool);
    const auto y = multiply(w, x.data(), 9, pool, kernel_plan::fast);
    for (std::size_t o = 0; o < 9 * 20; ++o) {
      EXPECT_EQ(std::isfinite(y[o]), o < 20 || o >= 60) << o;
    }
  });
}

TEST_P(matmul_of, keeps_the_row_contract) {
  const std::int64_t out = 40;
  const auto weights = random_rows(type(), out, in(), 9);
  const auto x = random_floats(static_cast<std::size_t>(33 * in()), 10);
  on_every_target([&] {
    thread_pool pool{2};
    const auto w =
        packed_weights::pack(type(), weights.data(), out, in(), pool);
    EXPECT_TRUE(vouch::test::rows_are_independent(
        x, in(), out, [&](const float* input, std::int64_t rows, float* y) {
          const auto result = multiply(w, input, rows, pool);
          std::copy(result.begin(), result.end(), y);
        }));
  });
}

TEST_P(matmul_of, does_not_depend_on_threads_alignment_or_stride) {
  const std::int64_t out = 333;
  const std::int64_t rows = 9;
  const auto x = random_floats(static_cast<std::size_t>(rows * in()), 12);
  thread_pool one{1};
  const auto plain = random_rows(type(), out, in(), 11);
  const auto expected =
      multiply(packed_weights::pack(type(), plain.data(), out, in(), one),
               x.data(), rows, one);
  for (int threads : {1, 2, 3, 8}) {
    thread_pool pool{threads};
    const std::size_t offset = static_cast<std::size_t>(threads) % 4;
    const auto moved = random_rows(type(), out, in(), 11, offset);
    const auto w =
        packed_weights::pack(type(), moved.data() + offset, out, in(), pool);
    activations input;
    input.assign(x.data(), rows, in(), true, pool);
    const std::int64_t stride = out + 5;
    std::vector<float> y(static_cast<std::size_t>(rows * stride), -7.0F);
    matmul(w, input, y.data(), stride, pool);
    for (std::int64_t r = 0; r < rows; ++r) {
      EXPECT_EQ(vouch::test::first_difference(expected.data() + r * out,
                                              y.data() + r * stride, out),
                -1);
      for (std::int64_t i = out; i < stride; ++i) {
        EXPECT_EQ(y[static_cast<std::size_t>(r * stride + i)], -7.0F);
      }
    }
  }
}

TEST_P(matmul_of, extreme_activations_give_the_references_bytes) {
  const std::int64_t out = 20;
  const auto weights = random_rows(type(), out, in(), 13);
  auto x = random_floats(static_cast<std::size_t>(6 * in()), 14);
  const auto row = [&](std::int64_t r) { return x.data() + r * in(); };
  std::fill_n(row(0), in(), 0.0F);
  std::fill_n(row(1), in(), -1e-38F);
  std::fill_n(row(2), in(), 3e30F);
  for (std::int64_t i = 0; i < in(); ++i) row(3)[i] = i % 2 ? 127.0F : -127.0F;
  for (std::int64_t i = 0; i < in(); ++i) row(4)[i] = i % 2 ? 0.5F : 127.0F;
  std::fill_n(row(5), in(), 1.0F);
  std::vector<float> expected(6 * 20);
  reference::matmul(type(), weights.data(), out, in(), x.data(), 6,
                    expected.data(), out);
  on_every_target([&] {
    thread_pool pool{1};
    const auto w =
        packed_weights::pack(type(), weights.data(), out, in(), pool);
    const auto y = multiply(w, x.data(), 6, pool);
    EXPECT_EQ(vouch::test::first_difference(expected.data(), y.data(), 6 * 20),
              -1);
  });
}

TEST_P(matmul_of, hands_on_nans_and_infinities_of_its_own_row_only) {
  const std::int64_t out = 20;
  const auto weights = random_rows(type(), out, in(), 15);
  auto x = random_floats(static_cast<std::size_t>(3 * in()), 16);
  x[static_cast<std::size_t>(in() + 5)] = std::nanf("");
  x[static_cast<std::size_t>(2 * in() + 1)] = HUGE_VALF;
  on_every_target([&] {
    thread_pool pool{1};
    const auto w =
        packed_weights::pack(type(), weights.data(), out, in(), pool);
    const auto y = multiply(w, x.data(), 3, pool);
    for (std::size_t o = 0; o < 20; ++o) {
      EXPECT_TRUE(std::isfinite(y[o]));
      EXPECT_TRUE(std::isnan(y[20 + o]));
      EXPECT_FALSE(std::isfinite(y[40 + o]));
    }
  });
}

INSTANTIATE_TEST_SUITE_P(types, matmul_of, testing::ValuesIn(test::all_types),
                         [](const auto& info) {
                           return std::string{traits(info.param).name};
                         });

TEST(matmul, several_jobs_equal_one_each) {
  thread_pool pool{2};
  const std::int64_t in = 64;
  const std::int64_t rows = 11;
  const auto x = random_floats(static_cast<std::size_t>(rows * in), 20);
  std::vector<packed_weights> weights;
  const std::int64_t outs[] = {100, 7, 48};
  const dtype types[] = {dtype::q4_1, dtype::f16, dtype::q8_0};
  for (std::size_t i = 0; i < 3; ++i) {
    weights.push_back(packed_weights::pack(
        types[i], random_rows(types[i], outs[i], in, 21).data(), outs[i], in,
        pool));
  }
  activations input;
  input.assign(x.data(), rows, in, true, pool);
  std::vector<std::vector<float>> y(3);
  std::vector<matmul_job> jobs;
  for (std::size_t i = 0; i < 3; ++i) {
    y[i].resize(static_cast<std::size_t>(rows * outs[i]));
    jobs.push_back({&weights[i], y[i].data(), outs[i]});
  }
  matmul(jobs, input, pool);
  for (std::size_t i = 0; i < 3; ++i) {
    EXPECT_EQ(y[i], multiply(weights[i], x.data(), rows, pool));
  }
}

// A matmul that does what the contract forbids: with more than 8 rows it sums
// in another order. The checker has to see it.
TEST(row_check, catches_a_kernel_switch_at_eight_rows) {
  const std::int64_t in = 64;
  const std::int64_t out = 3;
  const auto w = random_floats(static_cast<std::size_t>(in * out), 30);
  const auto x = random_floats(static_cast<std::size_t>(33 * in), 31);
  const auto product = [&](bool switches) {
    return [&, switches](const float* input, std::int64_t rows, float* y) {
      for (std::int64_t r = 0; r < rows; ++r) {
        for (std::int64_t o = 0; o < out; ++o) {
          float sum = 0;
          for (std::int64_t i = 0; i < in; ++i) {
            const std::int64_t k = switches && rows > 8 ? in - 1 - i : i;
            sum += w[static_cast<std::size_t>(o * in + k)] * input[r * in + k];
          }
          y[r * out + o] = sum;
        }
      }
    };
  };
  EXPECT_TRUE(vouch::test::rows_are_independent(x, in, out, product(false)));
  const auto caught =
      vouch::test::rows_are_independent(x, in, out, product(true));
  EXPECT_FALSE(caught);
  EXPECT_NE(std::string{caught.message()}.find("of 9 rows"), std::string::npos);
}

// A row that reads its neighbour, by a maximum over the batch.
TEST(row_check, catches_a_row_that_looks_at_another) {
  const auto x = random_floats(33 * 16, 32);
  const auto caught = vouch::test::rows_are_independent(
      x, 16, 1, [](const float* input, std::int64_t rows, float* y) {
        float top = 0;
        for (std::int64_t i = 0; i < rows * 16; ++i) {
          top = std::max(top, input[i]);
        }
        for (std::int64_t r = 0; r < rows; ++r) y[r] = input[r * 16] / top;
      });
  EXPECT_FALSE(caught);
}

}  // namespace
}  // namespace vouch::kernels
