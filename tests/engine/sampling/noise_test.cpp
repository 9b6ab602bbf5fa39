#include "engine/sampling/noise.hpp"

#include <cmath>
#include <vector>

#include <gtest/gtest.h>

#include "engine/sampling/fixed_math.hpp"

namespace vouch::engine {
namespace {

using counter = std::array<std::uint32_t, 4>;
using key = std::array<std::uint32_t, 2>;

// The known answers published with the generator (Random123's kat_vectors).
TEST(Philox, KnownAnswers) {
  EXPECT_EQ(philox(counter{0, 0, 0, 0}, key{0, 0}),
            (counter{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}));
  EXPECT_EQ(philox(counter{0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff},
                   key{0xffffffff, 0xffffffff}),
            (counter{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}));
  EXPECT_EQ(philox(counter{0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344},
                   key{0xa4093822, 0x299f31d0}),
            (counter{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}));
}

TEST(Noise, BlocksEqualSingleTokens) {
  const row_noise noise{0x0123456789abcdefULL, 3, 77};
  std::uint32_t bits[32];
  for (std::uint32_t block : {0U, 8U, 12280U}) {
    noise.bits_of_blocks(block, bits);
    for (int i = 0; i < 32; ++i) {
      EXPECT_EQ(bits[i], noise.bits(static_cast<token_id>(block * 4) + i));
    }
  }
}

TEST(Noise, EveryKeyCounts) {
  const auto bits = [](std::uint64_t seed, std::uint32_t choice,
                       std::int64_t position, token_id token) {
    return row_noise{seed, choice, position}.bits(token);
  };
  const auto base = bits(1, 0, 5, 9);
  EXPECT_EQ(base, bits(1, 0, 5, 9));
  EXPECT_NE(base, bits(2, 0, 5, 9));
  EXPECT_NE(base, bits(1 + (std::uint64_t{1} << 32), 0, 5, 9));
  EXPECT_NE(base, bits(1, 1, 5, 9));
  EXPECT_NE(base, bits(1, 0, 6, 9));
  EXPECT_NE(base, bits(1, 0, 5, 8));
  EXPECT_NE(base, bits(1, 0, 5, 13));
}

TEST(Noise, GumbelMatchesTheLibraryAndStaysInRange) {
  for (std::uint64_t bits = 0; bits <= 0xffffffffULL; bits += 2147483) {
    const double u = (static_cast<double>(bits) + 0.5) * 0x1p-32;
    const double expected = -std::log(-std::log(u));
    EXPECT_NEAR(row_noise::gumbel(static_cast<std::uint32_t>(bits)), expected,
                1e-12 * std::max(1.0, std::abs(expected)));
  }
  EXPECT_GT(row_noise::gumbel(0), -3.2);
  EXPECT_LT(row_noise::gumbel(0xffffffffU), 22.9);
}

TEST(FixedMath, LogMatchesTheLibrary) {
  EXPECT_EQ(fixed_math::log(1.0), 0.0);
  for (double x = 1e-12; x < 1e3; x *= 1.00371) {
    const double expected = std::log(x);
    ASSERT_NEAR(fixed_math::log(x), expected,
                1e-15 * std::max(1.0, std::abs(expected)))
        << x;
  }
}

}  // namespace
}  // namespace vouch::engine
