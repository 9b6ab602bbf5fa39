#include "tests/engine/row_contract/faults.hpp"

#include <bit>
#include <limits>
#include <set>
#include <utility>

#include "kernels/kv_write.hpp"

namespace vouch::test {

namespace {

constexpr std::int64_t block = kernels::kv_block_tokens;

const kernels::attention_rows& sequence_of(const engine::forward_rows& rows,
                                           std::int64_t row) {
  for (const auto& sequence : rows.sequences) {
    if (row < sequence.first_row + sequence.rows) {
      return sequence;
    }
  }
  return rows.sequences.back();
}

bool is_cut(const kernels::attention_rows& sequence) {
  return sequence.rows > 1 && sequence.first_position > 0;
}

}  // namespace

faulty_model::faulty_model(std::shared_ptr<engine::model> inner, fault kind,
                           int bit)
    : inner_{std::move(inner)}, kind_{kind}, flip_{1U << bit} {}

void faulty_model::nudge(float& value) const {
  value = std::bit_cast<float>(std::bit_cast<std::uint32_t>(value) ^ flip_);
}

const engine::model_config& faulty_model::config() const {
  return inner_->config();
}

std::size_t faulty_model::weight_bytes() const {
  return inner_->weight_bytes();
}

void faulty_model::forward(const engine::forward_rows& rows,
                           const engine::kv_memory& kv, float* logits,
                           kernels::thread_pool& pool) {
  struct stale {
    const std::int32_t* table;
    std::int64_t position;
    stored_row row;
  };
  std::vector<stale> kept;
  for (const auto& sequence : rows.sequences) {
    // Positions this sequence wrote before and now writes again.
    const std::int32_t* table = sequence.block_table;
    const auto known = written_to_.find(table[sequence.first_position / block]);
    if (kind_ == fault::stale_kv && known != written_to_.end() &&
        sequence.first_position < known->second &&
        sequence.first_position / block == (known->second - 1) / block) {
      kept.push_back({table, sequence.first_position,
                      read(kv, table, sequence.first_position)});
    }
    const std::int64_t end = sequence.first_position + sequence.rows;
    written_to_[table[(end - 1) / block]] = end;
  }
  if (kind_ == fault::poison) {
    poison_unused_rows(rows, kv);
  }
  inner_->forward(rows, kv, logits, pool);
  for (const auto& row : kept) {
    write(kv, row.table, row.position, row.row);
  }
  nudge_logits(rows, logits, pool);
  for (const auto& sequence : rows.sequences) {
    if (kind_ == fault::cut_kv && is_cut(sequence)) {
      nudge_kv(kv, sequence.block_table, sequence.first_position);
    }
  }
  if (kind_ == fault::shared_block) {
    nudge_shared_block(rows, kv);
  }
}

bool faulty_model::hits(const engine::forward_rows& rows, std::int64_t row,
                        const kernels::thread_pool& pool) const {
  switch (kind_) {
    case fault::batch:
      return rows.tokens.size() > 1;
    case fault::eight_rows:
      return rows.tokens.size() >= 8;
    case fault::cut_logits:
      return is_cut(sequence_of(rows, row));
    case fault::row_index:
      return row % 4 == 3;
    case fault::threads:
      return pool.size() > 2;
    case fault::cut_kv:
    case fault::stale_kv:
    case fault::shared_block:
    case fault::poison:
      return false;
  }
  return false;
}

void faulty_model::poison_unused_rows(const engine::forward_rows& rows,
                                      const engine::kv_memory& kv) const {
  const auto width =
      static_cast<std::size_t>(kv.layout.kv_heads * kv.layout.head_dim);
  const stored_row poison(
      static_cast<std::size_t>(config().layers) * 2,
      std::vector<float>(width, std::numeric_limits<float>::quiet_NaN()));
  for (const auto& sequence : rows.sequences) {
    const std::int64_t end = sequence.first_position + sequence.rows;
    for (std::int64_t p = end; p % block != 0; ++p) {
      write(kv, sequence.block_table, p, poison);
    }
  }
}

void faulty_model::nudge_logits(const engine::forward_rows& rows, float* logits,
                                const kernels::thread_pool& pool) const {
  for (std::size_t i = 0; i < rows.logits_rows.size(); ++i) {
    if (hits(rows, rows.logits_rows[i], pool)) {
      nudge(logits[static_cast<std::int64_t>(i) * config().vocab_size + 5]);
    }
  }
}

void faulty_model::nudge_shared_block(const engine::forward_rows& rows,
                                      const engine::kv_memory& kv) const {
  std::set<std::int32_t> first_blocks;
  for (const auto& sequence : rows.sequences) {
    if (sequence.first_position >= block &&
        !first_blocks.insert(sequence.block_table[0]).second) {
      nudge_kv(kv, sequence.block_table, 3);
    }
  }
}

faulty_model::stored_row faulty_model::read(const engine::kv_memory& kv,
                                            const std::int32_t* table,
                                            std::int64_t position) const {
  stored_row row;
  const auto width =
      static_cast<std::size_t>(kv.layout.kv_heads * kv.layout.head_dim);
  for (std::int32_t l = 0; l < config().layers; ++l) {
    std::vector<float> k(width);
    std::vector<float> v(width);
    kernels::kv_read(kv.layout, kv.layer(l), table, position,
                     reinterpret_cast<std::byte*>(k.data()),
                     reinterpret_cast<std::byte*>(v.data()));
    row.push_back(std::move(k));
    row.push_back(std::move(v));
  }
  return row;
}

void faulty_model::write(const engine::kv_memory& kv, const std::int32_t* table,
                         std::int64_t position, const stored_row& row) const {
  for (std::int32_t l = 0; l < config().layers; ++l) {
    const auto& k = row[static_cast<std::size_t>(l) * 2];
    const auto& v = row[static_cast<std::size_t>(l) * 2 + 1];
    kernels::reference::kv_write(kv.layout, kv.layer(l), table, position, 1,
                                 k.data(), v.data(),
                                 static_cast<std::int64_t>(k.size()));
  }
}

void faulty_model::nudge_kv(const engine::kv_memory& kv,
                            const std::int32_t* table,
                            std::int64_t position) const {
  auto row = read(kv, table, position);
  nudge(row[0][0]);
  write(kv, table, position, row);
}

}  // namespace vouch::test
