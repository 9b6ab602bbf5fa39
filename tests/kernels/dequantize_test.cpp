#include "kernels/dequantize.hpp"

#include <cmath>
#include <limits>

#include "tests/kernels/kernel_test.hpp"
#include "tests/support/files.hpp"

namespace vouch::kernels {
namespace {

/// tools/golden/make_blocks.py: 48 rows of one block, or 12 of a large one.
class block_types : public testing::TestWithParam<dtype> {};

TEST_P(block_types, equal_the_gguf_package_bit_for_bit) {
  const dtype type = GetParam();
  const auto& t = traits(type);
  const std::int64_t in = t.block_elements == 256 ? 256 : 32;
  const std::int64_t rows = in == 256 ? 12 : 48;
  const auto file = vouch::test::read_file(
      vouch::test::fixture("blocks/" + std::string{t.name} + ".bin"));
  const std::size_t blocks =
      static_cast<std::size_t>(rows) * row_bytes(type, in);
  const auto n = static_cast<std::size_t>(rows * in);
  ASSERT_EQ(file.size(), blocks + 4 * n);
  // At every alignment.
  for (std::size_t shift = 0; shift < 4; ++shift) {
    std::vector<std::byte> bytes(shift + blocks);
    std::memcpy(bytes.data() + shift, file.data(), blocks);
    std::vector<float> values(n);
    dequantize(type, bytes.data() + shift, rows * in, values.data());
    EXPECT_EQ(std::memcmp(values.data(), file.data() + blocks, 4 * n), 0);
  }
}

INSTANTIATE_TEST_SUITE_P(gguf, block_types,
                         testing::Values(dtype::f16, dtype::bf16, dtype::q8_0,
                                         dtype::q4_0, dtype::q4_1, dtype::q5_0,
                                         dtype::q5_1, dtype::q4_k, dtype::q5_k,
                                         dtype::q6_k),
                         [](const auto& info) {
                           return std::string{traits(info.param).name};
                         });

TEST(float16, every_number_survives_the_round_trip) {
  for (std::uint32_t bits = 0; bits < 0x10000U; ++bits) {
    const auto half = static_cast<std::uint16_t>(bits);
    const float wide = f16_to_f32(half);
    if (std::isnan(wide)) {
      EXPECT_EQ((bits & 0x7C00U), 0x7C00U);
      EXPECT_TRUE(std::isnan(f16_to_f32(f32_to_f16(wide))));
    } else {
      EXPECT_EQ(f32_to_f16(wide), half) << bits;
    }
  }
}

TEST(float16, rounds_to_nearest_even) {
  EXPECT_EQ(f32_to_f16(65504.0F), 0x7BFF);
  EXPECT_EQ(f32_to_f16(65519.0F), 0x7BFF);
  EXPECT_EQ(f32_to_f16(65520.0F), 0x7C00);
  EXPECT_EQ(f32_to_f16(-1e30F), 0xFC00);
  EXPECT_EQ(f32_to_f16(1.0F + 0x1p-11F), 0x3C00);             // tie to even
  EXPECT_EQ(f32_to_f16(1.0F + 0x3p-11F), 0x3C02);             // tie to even
  EXPECT_EQ(f32_to_f16(1.0F + 0x1p-11F + 0x1p-20F), 0x3C01);  // above the tie
  EXPECT_EQ(f32_to_f16(0x1p-24F), 0x0001);
  EXPECT_EQ(f32_to_f16(0x1p-25F), 0x0000);
  EXPECT_EQ(f32_to_f16(0x1.8p-24F), 0x0002);
  EXPECT_EQ(f32_to_f16(0x1.FFFp-15F), 0x0400);  // up into the normal numbers
  EXPECT_EQ(f32_to_bf16(1.0F + 0x1p-8F), 0x3F80);
  EXPECT_EQ(f32_to_bf16(1.0F + 0x3p-8F), 0x3F82);
  EXPECT_TRUE(std::isnan(
      bf16_to_f32(f32_to_bf16(std::numeric_limits<float>::quiet_NaN()))));
}

}  // namespace
}  // namespace vouch::kernels
