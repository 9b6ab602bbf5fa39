#include "kernels/activations.hpp"

#include <cstring>
#include <vector>

#include "kernels/cpu/packed.hpp"
#include "kernels/elementwise.hpp"
#include "kernels/rms_norm.hpp"
#include "tests/kernels/kernel_test.hpp"

namespace vouch::kernels {
namespace {

using test::on_every_target;
using test::random_floats;

/// Whether `made` holds these floats and their 8-bit form, in bytes.
testing::AssertionResult holds(const activations& made,
                               const std::vector<float>& floats) {
  const auto& got = *made.get();
  if (got.rows * got.in != static_cast<std::int64_t>(floats.size())) {
    return testing::AssertionFailure() << got.rows << " x " << got.in;
  }
  if (std::memcmp(got.x, floats.data(), floats.size() * sizeof(float)) != 0) {
    return testing::AssertionFailure() << "other floats";
  }
  for (std::size_t b = 0; b < floats.size() / quant_block_elements; ++b) {
    const auto expected =
        reference::quantize_block(floats.data() + b * quant_block_elements);
    if (std::memcmp(&got.blocks[b], &expected, sizeof expected) != 0) {
      return testing::AssertionFailure() << "another block " << b;
    }
  }
  return testing::AssertionSuccess();
}

constexpr std::int64_t in = 576;

TEST(activations, a_norm_with_its_residual_has_the_bytes_of_its_parts) {
  for (std::int64_t rows : {1, 3, 4, 33}) {
    const auto n = static_cast<std::size_t>(rows * in);
    const auto hidden = random_floats(n, 1, 3.0F);
    const auto delta = random_floats(n, 2);
    const auto weight = random_floats(static_cast<std::size_t>(in), 3);
    for (bool adds : {false, true}) {
      auto sum = hidden;
      if (adds) reference::add(sum.data(), delta.data(), rows * in);
      std::vector<float> normed(n);
      reference::rms_norm(sum.data(), weight.data(), 1e-5F, rows, in,
                          normed.data());
      on_every_target([&] {
        for (int threads : {1, 3}) {
          thread_pool pool{threads};
          activations made;
          auto x = hidden;
          made.assign_norm(x.data(), adds ? delta.data() : nullptr,
                           weight.data(), 1e-5F, rows, in, true, pool);
          EXPECT_TRUE(x == sum);
          EXPECT_TRUE(holds(made, normed)) << rows << " rows";
        }
      });
    }
  }
}

TEST(activations, a_swiglu_has_the_bytes_of_its_parts) {
  for (std::int64_t rows : {1, 2, 17}) {
    const auto n = static_cast<std::size_t>(rows * in);
    const auto gate = random_floats(n, 4, 4.0F);
    const auto up = random_floats(n, 5);
    std::vector<float> expected(n);
    reference::swiglu(gate.data(), up.data(), rows * in, expected.data());
    on_every_target([&] {
      thread_pool pool{2};
      activations made;
      auto x = gate;
      made.assign_swiglu(x.data(), up.data(), rows, in, true, pool);
      EXPECT_TRUE(holds(made, expected)) << rows << " rows";
    });
  }
}

TEST(activations, take_the_callers_rows_as_they_are) {
  const auto x = random_floats(static_cast<std::size_t>(5 * in), 6);
  thread_pool pool{2};
  activations made;
  made.assign(x.data(), 5, in, true, pool);
  EXPECT_TRUE(holds(made, x));
  // Fewer rows afterwards: nothing of the former ones counts.
  const auto fewer = random_floats(static_cast<std::size_t>(2 * in), 7);
  made.assign(fewer.data(), 2, in, true, pool);
  EXPECT_TRUE(holds(made, fewer));
  made.assign(fewer.data(), 1, in, false, pool);
  EXPECT_FALSE(made.get()->quantized);
  EXPECT_EQ(made.rows(), 1);
  EXPECT_EQ(made.in(), in);
}

}  // namespace
}  // namespace vouch::kernels
