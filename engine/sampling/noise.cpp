#include "engine/sampling/noise.hpp"

#include "engine/sampling/fixed_math.hpp"

namespace vouch::engine {

namespace {

constexpr std::uint32_t multiplier_0 = 0xD2511F53U;
constexpr std::uint32_t multiplier_1 = 0xCD9E8D57U;
constexpr std::uint32_t weyl_0 = 0x9E3779B9U;
constexpr std::uint32_t weyl_1 = 0xBB67AE85U;
constexpr int rounds = 10;

/// `Lanes` counters side by side, word by word, so that it vectorises.
template <int Lanes>
void philox_lanes(std::uint32_t (&c)[4][Lanes], std::uint32_t k0,
                  std::uint32_t k1) {
  for (int round = 0; round < rounds; ++round) {
    for (int lane = 0; lane < Lanes; ++lane) {
      const std::uint64_t a = std::uint64_t{multiplier_0} * c[0][lane];
      const std::uint64_t b = std::uint64_t{multiplier_1} * c[2][lane];
      c[0][lane] = static_cast<std::uint32_t>(b >> 32) ^ c[1][lane] ^ k0;
      c[1][lane] = static_cast<std::uint32_t>(b);
      c[2][lane] = static_cast<std::uint32_t>(a >> 32) ^ c[3][lane] ^ k1;
      c[3][lane] = static_cast<std::uint32_t>(a);
    }
    k0 += weyl_0;
    k1 += weyl_1;
  }
}

}  // namespace

std::array<std::uint32_t, 4> philox(std::array<std::uint32_t, 4> counter,
                                    std::array<std::uint32_t, 2> key) {
  std::uint32_t c[4][1] = {
      {counter[0]}, {counter[1]}, {counter[2]}, {counter[3]}};
  philox_lanes<1>(c, key[0], key[1]);
  return {c[0][0], c[1][0], c[2][0], c[3][0]};
}

row_noise::row_noise(std::uint64_t seed, std::uint32_t choice,
                     std::int64_t position)
    : counter_{0, static_cast<std::uint32_t>(position),
               static_cast<std::uint32_t>(
                   static_cast<std::uint64_t>(position) >> 32),
               choice},
      key_{static_cast<std::uint32_t>(seed),
           static_cast<std::uint32_t>(seed >> 32)} {}

std::uint32_t row_noise::bits(token_id token) const {
  auto counter = counter_;
  counter[0] = static_cast<std::uint32_t>(token) / 4;
  return philox(counter, key_)[static_cast<std::uint32_t>(token) % 4];
}

void row_noise::bits_of_blocks(std::uint32_t block, std::uint32_t* out) const {
  constexpr int lanes = 8;
  std::uint32_t c[4][lanes];
  for (int lane = 0; lane < lanes; ++lane) {
    c[0][lane] = block + static_cast<std::uint32_t>(lane);
    for (int word = 1; word < 4; ++word) {
      c[word][lane] = counter_[static_cast<std::size_t>(word)];
    }
  }
  philox_lanes<lanes>(c, key_[0], key_[1]);
  for (int lane = 0; lane < lanes; ++lane) {
    for (int word = 0; word < 4; ++word) {
      out[lane * 4 + word] = c[word][lane];
    }
  }
}

double row_noise::gumbel(std::uint32_t bits) {
  const double u = (static_cast<double>(bits) + 0.5) * 0x1p-32;
  return -fixed_math::log(-fixed_math::log(u));
}

}  // namespace vouch::engine
