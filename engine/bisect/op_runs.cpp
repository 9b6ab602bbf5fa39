#include "engine/bisect/op_runs.hpp"

#include <cstring>
#include <random>

namespace vouch::engine {
namespace {

constexpr std::int64_t all_rows = 40;
constexpr std::int64_t block_sizes[] = {1, 2, 3,  4,  5,  6,  7,
                                        8, 9, 15, 16, 17, 32, 33};
constexpr std::int64_t offsets[] = {0, 1, 7};

std::vector<float> random_rows(std::int64_t in, std::uint64_t seed) {
  std::mt19937_64 random{seed};
  std::normal_distribution<float> normal{0.0F, 1.0F};
  std::vector<float> x(static_cast<std::size_t>(all_rows * in));
  for (auto& value : x) value = normal(random);
  return x;
}

}  // namespace

op_line run_op(op_subject& subject, int draws, std::uint64_t seed) {
  op_line line;
  line.shape = subject.shape();
  const auto bytes = static_cast<std::size_t>(subject.out_bytes());
  std::vector<std::byte> alone(all_rows * bytes);
  std::vector<std::byte> block(all_rows * bytes);
  for (int d = 0; d < draws; ++d) {
    const auto draw = seed + static_cast<std::uint64_t>(d);
    subject.draw(draw);
    const auto x = random_rows(subject.in(), draw);
    for (std::int64_t r = 0; r < all_rows; ++r) {
      subject.run(r, 1, x.data(),
                  alone.data() + static_cast<std::size_t>(r) * bytes);
    }
    for (const auto rows : block_sizes) {
      for (const auto offset : offsets) {
        if (offset + rows > all_rows) continue;
        subject.run(offset, rows, x.data(), block.data());
        ++line.blocks;
        line.rows += rows;
        bool differs = false;
        for (std::int64_t r = 0; r < rows; ++r) {
          const auto* here = block.data() + static_cast<std::size_t>(r) * bytes;
          const auto* there =
              alone.data() + static_cast<std::size_t>(offset + r) * bytes;
          if (std::memcmp(here, there, bytes) == 0) continue;
          differs = true;
          if (line.first) break;
          op_line::difference first{draw, rows, offset, r, 0, 0};
          first.total_bytes = static_cast<std::int64_t>(bytes);
          for (std::size_t i = 0; i < bytes; ++i) {
            if (here[i] != there[i]) ++first.differing_bytes;
          }
          line.first = first;
        }
        line.differing_blocks += differs ? 1 : 0;
      }
    }
  }
  return line;
}

}  // namespace vouch::engine
