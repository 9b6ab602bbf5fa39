// The block's masks: attention against a plain loop, and which drafts a
// narrower block changes.

#include "engine/models/dflash_attention.hpp"

#include <cmath>
#include <numeric>
#include <random>
#include <vector>

#include <gtest/gtest.h>

#include "kernels/kv_write.hpp"
#include "tests/engine/models/dflash_fixture.hpp"

namespace vouch {
namespace {

constexpr int heads = 4;
constexpr int kv_heads = 2;
constexpr int dim = 16;

struct attention_world {
  attention_world(std::int64_t context, std::int64_t rows)
      : k(numbers((context + rows) * kv_heads * dim)),
        v(numbers((context + rows) * kv_heads * dim)),
        query(numbers(rows * heads * dim)) {
    const auto all = context + rows;
    table.resize(static_cast<std::size_t>(all / 16 + 1));
    std::iota(table.rbegin(), table.rend(), 0);
    const kernels::kv_layout layout{kv_heads, dim, kernels::dtype::f32};
    // Rows that nobody wrote hold NaN.
    memory.assign(table.size() * layout.block_bytes(), std::byte{0xFF});
    block = {layout, memory.data(), table.data(), context, rows, heads};
    const kernels::attention_rows stored{table.data(), 0, all, 0};
    kernels::kv_write(layout, memory.data(), {&stored, 1}, k.data(), v.data(),
                      kv_heads * dim, pool);
  }

  std::vector<float> numbers(std::int64_t count) {
    std::normal_distribution<float> normal;
    std::vector<float> result(static_cast<std::size_t>(count));
    for (auto& x : result) x = normal(random);
    return result;
  }

  std::vector<float> run(const engine::dflash_mask& mask) {
    std::vector<float> out(query.size());
    kernels::attention_scratch scratch;
    engine::dflash_attention(block, mask, query.data(), 0.25F, out.data(),
                             scratch, pool);
    return out;
  }

  /// The same in double, position by position.
  std::vector<float> plain(const engine::dflash_mask& mask) const {
    std::vector<float> out;
    for (std::int64_t row = 0; row < block.rows; ++row) {
      for (int head = 0; head < heads; ++head) {
        const auto* q = query.data() + (row * heads + head) * dim;
        std::vector<double> sums(dim, 0.0);
        double total = 0;
        for (std::int64_t p = 0; p < block.context + block.rows; ++p) {
          const auto ahead = p - (block.context + row);
          if (mask.causal && ahead > 0) continue;
          if (mask.window > 0 && std::abs(ahead) >= mask.window) continue;
          const auto at =
              static_cast<std::size_t>((p * kv_heads + head / 2) * dim);
          double dot = 0;
          for (std::size_t d = 0; d < dim; ++d) dot += double{q[d]} * k[at + d];
          const double weight = std::exp(dot * 0.25);
          total += weight;
          for (std::size_t d = 0; d < dim; ++d) sums[d] += weight * v[at + d];
        }
        for (const double sum : sums) {
          out.push_back(static_cast<float>(sum / total));
        }
      }
    }
    return out;
  }

  std::mt19937 random{11};
  kernels::thread_pool pool{2};
  std::vector<float> k;
  std::vector<float> v;
  std::vector<float> query;
  std::vector<std::int32_t> table;
  std::vector<std::byte> memory;
  engine::dflash_block block;
};

TEST(DflashAttention, EqualsAPlainLoop) {
  for (const std::int64_t context : {0, 1, 15, 16, 37, 300}) {
    for (const std::int64_t rows : {1, 2, 8, 16}) {
      attention_world world{context, rows};
      for (const std::int32_t window : {0, 1, 6, 16, 20, 33, 1000}) {
        for (const bool causal : {false, true}) {
          const engine::dflash_mask mask{window, causal};
          EXPECT_LT(test::compare(world.run(mask), world.plain(mask)).max, 1e-5)
              << context << " " << rows << " " << window << " " << causal;
        }
      }
    }
  }
}

/// Rows that see nothing behind them do not know how wide the block is; rows
/// that see all of it do.
TEST(DflashMask, CausalRowsIgnoreWhatFollows) {
  for (const auto& [form, independent] :
       {std::pair{"causal", true}, std::pair{"full", false},
        std::pair{"sliding_mixed", false}, std::pair{"sliding_both", false}}) {
    test::dflash_world world;
    const auto drafter = world.form(form);
    const auto taps = world.taps(*drafter, {4, 8, 15, 16, 23, 42, 9, 3, 3});
    auto context = drafter->new_context();
    drafter->append(context, taps.data(), 9, world.pool);
    const auto draft = [&](std::int32_t count) {
      drafter->propose(context, 5, count, world.target.model(), world.pool);
      return std::vector<float>{drafter->logits().begin(),
                                drafter->logits().end()};
    };
    auto wide = draft(7);
    const auto narrow = draft(3);
    EXPECT_EQ(narrow.size(), 3U * 64);
    wide.resize(narrow.size());
    EXPECT_EQ(narrow == wide, independent) << form;
  }
}

}  // namespace
}  // namespace vouch
