#include "kernels/kv_write.hpp"

#include <limits>
#include <vector>

#include "tests/kernels/kernel_test.hpp"

namespace vouch::kernels {
namespace {

using test::on_every_target;
using test::random_floats;

/// What a step writes: sequences that begin anywhere in a block.
struct step_rows {
  std::int64_t first_position;
  std::int64_t rows;
};

struct shape {
  kv_layout layout;
  std::vector<step_rows> sequences;
};

const shape shapes[] = {
    {{3, 64, dtype::f16}, {{0, 1}}},
    {{3, 64, dtype::f16}, {{5, 40}}},
    {{3, 64, dtype::f32}, {{0, 100}}},
    {{2, 128, dtype::f16}, {{31, 1}, {7, 9}, {16, 16}, {0, 3}, {15, 2}}},
    {{1, 20, dtype::f16}, {{3, 30}, {9, 0}}},
    {{4, 20, dtype::f32}, {{14, 4}, {1, 18}}},
};

TEST(kv_write, equals_the_reference_in_bytes_on_every_target) {
  for (const auto& s : shapes) {
    const std::int64_t width =
        static_cast<std::int64_t>(s.layout.kv_heads) * s.layout.head_dim;
    const std::int64_t stride = width + 5;
    std::vector<std::vector<std::int32_t>> tables;
    std::vector<attention_rows> sequences;
    std::int32_t blocks = 1;
    std::int64_t rows = 0;
    for (const auto& part : s.sequences) {
      auto& table = tables.emplace_back();
      const auto end = part.first_position + part.rows;
      while (static_cast<std::int64_t>(table.size()) * kv_block_tokens < end) {
        table.push_back(blocks++);
      }
    }
    for (std::size_t i = 0; i < tables.size(); ++i) {
      const auto& part = s.sequences[i];
      sequences.push_back(
          {tables[i].data(), rows, part.rows, part.first_position});
      rows += part.rows;
    }
    auto k = random_floats(static_cast<std::size_t>(rows * stride), 90);
    auto v = random_floats(k.size(), 91, 100.0F);
    // What binary16 cannot hold, and what it only just can.
    k[0] = std::numeric_limits<float>::quiet_NaN();
    k[1] = -std::numeric_limits<float>::infinity();
    k[2] = 65520.0F;
    k[3] = 0x1.0p-25F;
    k[4] = -0.0F;
    v[0] = 1.0F + 0x1.0p-11F;
    v[1] = 0x1.ffcp-15F;

    std::vector<std::byte> expected(
        static_cast<std::size_t>(blocks) * s.layout.block_bytes(),
        std::byte{0xAB});
    auto layer = expected;
    for (const auto& part : sequences) {
      reference::kv_write(s.layout, expected.data(), part.block_table,
                          part.first_position, part.rows,
                          k.data() + part.first_row * stride,
                          v.data() + part.first_row * stride, stride);
    }
    on_every_target([&] {
      for (int threads : {1, 3}) {
        thread_pool pool{threads};
        auto written = layer;
        kv_write(s.layout, written.data(), sequences, k.data(), v.data(),
                 stride, pool);
        EXPECT_TRUE(written == expected) << threads << " threads";
      }
    });
  }
}

}  // namespace
}  // namespace vouch::kernels
