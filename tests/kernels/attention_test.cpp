#include "kernels/attention.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "kernels/dequantize.hpp"
#include "kernels/kv_write.hpp"
#include "tests/kernels/kernel_test.hpp"
#include "tests/support/row_check.hpp"

namespace vouch::kernels {
namespace {

using test::on_every_target;
using test::random_floats;

/// A pool of blocks with one sequence's K and V in scattered blocks, and NaNs
/// in everything that was not written.
struct paged_sequence {
  paged_sequence(kv_layout shape, std::int64_t n, unsigned seed)
      : layout{shape}, positions{n} {
    const std::int64_t width =
        static_cast<std::int64_t>(layout.kv_heads) * layout.head_dim;
    const auto blocks =
        static_cast<std::size_t>((n + kv_block_tokens - 1) / kv_block_tokens);
    table.resize(blocks);
    std::iota(table.begin(), table.end(), 1);
    std::shuffle(table.begin(), table.end(), std::mt19937{seed});
    layer.assign((blocks + 2) * layout.block_bytes(), std::byte{0xFF});
    k = random_floats(static_cast<std::size_t>(n * width), seed + 1);
    v = random_floats(static_cast<std::size_t>(n * width), seed + 2);
    reference::kv_write(layout, layer.data(), table.data(), 0, n, k.data(),
                        v.data(), width);
  }

  attention_rows rows(std::int64_t first_position, std::int64_t count,
                      std::int64_t first_row = 0) const {
    return {table.data(), first_row, count, first_position};
  }

  kv_layout layout;
  std::int64_t positions;
  std::vector<std::int32_t> table;
  std::vector<std::byte> layer;
  std::vector<float> k;
  std::vector<float> v;
};

struct shape {
  int heads;
  int kv_heads;
  int head_dim;
  dtype type;
};

constexpr shape shapes[] = {
    {9, 3, 64, dtype::f16},  {9, 3, 64, dtype::f32},  {2, 2, 16, dtype::f16},
    {8, 1, 32, dtype::f16},  {4, 2, 128, dtype::f32}, {16, 1, 48, dtype::f16},
    {3, 3, 128, dtype::f16}, {4, 4, 20, dtype::f16},
};

TEST(attention, equals_the_reference_in_bytes_on_every_target) {
  for (const auto& s : shapes) {
    for (std::int64_t n : {1, 15, 16, 17, 40, 255, 256, 257, 530}) {
      const paged_sequence seq{{s.kv_heads, s.head_dim, s.type}, n, 40};
      const std::int64_t rows = std::min<std::int64_t>(n, 9);
      const std::int64_t stride = s.heads * s.head_dim + 3;
      const auto q = random_floats(static_cast<std::size_t>(rows * stride), 41);
      const auto piece = seq.rows(n - rows, rows);
      const float scale = 1.0F / std::sqrt(static_cast<float>(s.head_dim));
      std::vector<float> expected(q.size(), 5.0F);
      reference::attention(seq.layout, seq.layer.data(), {&piece, 1}, q.data(),
                           stride, s.heads, scale, expected.data());
      for (float e : expected) ASSERT_TRUE(std::isfinite(e));
      on_every_target([&] {
        for (int threads : {1, 2, 3, 8}) {
          thread_pool pool{threads};
          attention_scratch scratch;
          std::vector<float> out(q.size(), 5.0F);
          attention(seq.layout, seq.layer.data(), {&piece, 1}, q.data(), stride,
                    s.heads, scale, out.data(), scratch, pool);
          ASSERT_EQ(vouch::test::first_difference(
                        expected.data(), out.data(),
                        static_cast<std::int64_t>(out.size())),
                    -1)
              << s.heads << "/" << s.kv_heads << " heads of " << s.head_dim
              << ", " << n << " positions, " << threads << " threads";
        }
      });
    }
  }
}

// Every number of queries in a tile, across a chunk's border.
TEST(attention, any_number_of_rows_equals_the_reference) {
  for (int kv_heads : {1, 3}) {
    const paged_sequence seq{{kv_heads, 32, dtype::f16}, 262, 45};
    const std::int64_t stride = 96;
    for (std::int64_t rows = 1; rows <= 12; ++rows) {
      const auto q = random_floats(static_cast<std::size_t>(rows * stride), 46);
      const auto piece = seq.rows(262 - rows, rows);
      std::vector<float> expected(q.size());
      reference::attention(seq.layout, seq.layer.data(), {&piece, 1}, q.data(),
                           stride, 3, 0.2F, expected.data());
      on_every_target([&] {
        thread_pool pool{2};
        attention_scratch scratch;
        std::vector<float> out(q.size());
        attention(seq.layout, seq.layer.data(), {&piece, 1}, q.data(), stride,
                  3, 0.2F, out.data(), scratch, pool);
        EXPECT_EQ(vouch::test::first_difference(
                      expected.data(), out.data(),
                      static_cast<std::int64_t>(out.size())),
                  -1)
            << rows << " rows, " << kv_heads << " KV heads";
      });
    }
  }
}

TEST(attention, is_near_a_softmax_in_double) {
  const shape s = shapes[0];
  const std::int64_t n = 700;
  const paged_sequence seq{{s.kv_heads, s.head_dim, s.type}, n, 50};
  const std::int64_t stride = s.heads * s.head_dim;
  const auto q = random_floats(static_cast<std::size_t>(stride), 51, 2.0F);
  const auto piece = seq.rows(n - 1, 1);
  std::vector<float> out(q.size());
  attention_scratch scratch;
  thread_pool pool{2};
  attention(seq.layout, seq.layer.data(), {&piece, 1}, q.data(), stride,
            s.heads, 0.125F, out.data(), scratch, pool);
  const std::int64_t width = s.kv_heads * s.head_dim;
  const auto stored = [](float x) {
    return static_cast<double>(f16_to_f32(f32_to_f16(x)));
  };
  for (std::int64_t h = 0; h < s.heads; ++h) {
    const std::int64_t kv = h / 3 * s.head_dim;
    std::vector<double> weight(static_cast<std::size_t>(n));
    double total = 0;
    for (std::int64_t p = 0; p < n; ++p) {
      double dot = 0;
      for (std::int64_t d = 0; d < s.head_dim; ++d) {
        dot += static_cast<double>(
                   q[static_cast<std::size_t>(h * s.head_dim + d)]) *
               stored(seq.k[static_cast<std::size_t>(p * width + kv + d)]);
      }
      weight[static_cast<std::size_t>(p)] = std::exp(dot * 0.125);
      total += weight[static_cast<std::size_t>(p)];
    }
    for (std::int64_t d = 0; d < s.head_dim; ++d) {
      double sum = 0;
      for (std::int64_t p = 0; p < n; ++p) {
        sum += weight[static_cast<std::size_t>(p)] *
               stored(seq.v[static_cast<std::size_t>(p * width + kv + d)]);
      }
      EXPECT_NEAR(out[static_cast<std::size_t>(h * s.head_dim + d)],
                  sum / total, 1e-5);
    }
  }
}

// Prefill in any cut, decode, verify: a position's bytes are its own.
TEST(attention, a_position_does_not_depend_on_the_cut) {
  const shape s = shapes[0];
  const std::int64_t n = 600;
  const paged_sequence seq{{s.kv_heads, s.head_dim, s.type}, n, 60};
  const std::int64_t stride = s.heads * s.head_dim;
  const auto q = random_floats(static_cast<std::size_t>(n * stride), 61);
  on_every_target([&] {
    thread_pool pool{2};
    attention_scratch scratch;
    const auto run = [&](std::int64_t first, std::int64_t rows, float* out) {
      const auto piece = seq.rows(first, rows);
      attention(seq.layout, seq.layer.data(), {&piece, 1},
                q.data() + first * stride, stride, s.heads, 0.125F, out,
                scratch, pool);
    };
    std::vector<float> whole(q.size());
    run(0, n, whole.data());
    for (std::int64_t cut : {1, 2, 5, 37, 256}) {
      std::vector<float> out(q.size());
      for (std::int64_t p = 0; p < n; p += cut) {
        run(p, std::min(cut, n - p), out.data() + p * stride);
      }
      EXPECT_EQ(
          vouch::test::first_difference(whole.data(), out.data(),
                                        static_cast<std::int64_t>(out.size())),
          -1)
          << "pieces of " << cut;
    }
  });
}

TEST(attention, sequences_of_a_step_do_not_meet) {
  const shape s = shapes[0];
  const std::int64_t stride = s.heads * s.head_dim;
  const kv_layout layout{s.kv_heads, s.head_dim, s.type};
  // Three sequences in one pool of blocks: a decode row, a verify block over a
  // chunk's border, a prefill chunk.
  const std::int64_t lengths[] = {300, 258, 70};
  const std::int64_t counts[] = {1, 4, 30};
  std::vector<std::byte> layer(64 * layout.block_bytes(), std::byte{0xFF});
  std::vector<std::vector<std::int32_t>> tables;
  std::int32_t next = 63;
  for (std::size_t i = 0; i < 3; ++i) {
    auto& table = tables.emplace_back();
    for (std::int64_t p = 0; p < lengths[i]; p += kv_block_tokens) {
      table.push_back(next--);
    }
    const std::int64_t width = s.kv_heads * s.head_dim;
    const auto seed = static_cast<unsigned>(70 + 10 * i);
    const auto n = static_cast<std::size_t>(lengths[i] * width);
    reference::kv_write(layout, layer.data(), table.data(), 0, lengths[i],
                        random_floats(n, seed).data(),
                        random_floats(n, seed + 1).data(), width);
  }
  const auto q = random_floats(static_cast<std::size_t>(35 * stride), 99);
  const auto piece = [&](std::size_t i, std::int64_t row) {
    return attention_rows{tables[i].data(), row, counts[i],
                          lengths[i] - counts[i]};
  };
  const attention_rows together[] = {piece(2, 5), piece(0, 0), piece(1, 1)};
  on_every_target([&] {
    thread_pool pool{3};
    attention_scratch scratch;
    std::vector<float> all(q.size());
    attention(layout, layer.data(), together, q.data(), stride, s.heads, 0.125F,
              all.data(), scratch, pool);
    std::vector<float> alone(q.size());
    for (const auto& one : together) {
      attention(layout, layer.data(), {&one, 1}, q.data(), stride, s.heads,
                0.125F, alone.data(), scratch, pool);
    }
    EXPECT_EQ(
        vouch::test::first_difference(all.data(), alone.data(),
                                      static_cast<std::int64_t>(all.size())),
        -1);
  });
}

TEST(kv_layout, reads_back_what_it_stored) {
  for (dtype type : {dtype::f16, dtype::f32}) {
    const kv_layout layout{3, 20, type};
    EXPECT_EQ(layout.block_bytes(), 2 * 16 * row_bytes(type, 60));
    const paged_sequence seq{layout, 37, 80};
    std::vector<std::byte> k(row_bytes(type, 60));
    std::vector<std::byte> v(k.size());
    for (std::int64_t p = 0; p < 37; ++p) {
      kv_read(layout, seq.layer.data(), seq.table.data(), p, k.data(),
              v.data());
      std::vector<float> wide(60);
      const auto expect = [&](const std::vector<float>& x,
                              const std::vector<std::byte>& bytes) {
        dequantize(type, bytes.data(), 60, wide.data());
        for (std::size_t i = 0; i < 60; ++i) {
          const float value = x[static_cast<std::size_t>(p) * 60 + i];
          EXPECT_EQ(wide[i],
                    type == dtype::f32 ? value : f16_to_f32(f32_to_f16(value)));
        }
      };
      expect(seq.k, k);
      expect(seq.v, v);
    }
  }
}

TEST(kv_layout, a_rewritten_row_leaves_its_neighbours_alone) {
  const kv_layout layout{1, 16, dtype::f16};
  paged_sequence seq{layout, 20, 81};
  const auto before = seq.layer;
  const auto row = random_floats(16, 82);
  reference::kv_write(layout, seq.layer.data(), seq.table.data(), 7, 1,
                      row.data(), row.data(), 16);
  std::vector<std::byte> k(32);
  std::vector<std::byte> v(32);
  std::vector<std::byte> old_k(32);
  std::vector<std::byte> old_v(32);
  for (std::int64_t p = 0; p < 20; ++p) {
    kv_read(layout, seq.layer.data(), seq.table.data(), p, k.data(), v.data());
    kv_read(layout, before.data(), seq.table.data(), p, old_k.data(),
            old_v.data());
    EXPECT_EQ(k == old_k && v == old_v, p != 7) << p;
  }
}

}  // namespace
}  // namespace vouch::kernels
