// Verify rows: which blocks are legal, and what they cost in memory.
#include <algorithm>
#include <utility>

#include "engine/schedule/state.hpp"

namespace vouch::engine {

int scheduler::impl::widest_block(const sequence& s, std::int64_t most) const {
  round_bounds bounds;
  const std::int64_t below = bursts.positions - s.scheduled;
  bounds.most = static_cast<int>(
      std::clamp<std::int64_t>(std::min(most, below), 1, max_round_width));
  bounds.to_emit = s.max_tokens - s.generated();
  bounds.context_left = limits.context - s.scheduled;
  return round_width(bounds, bursts.widths);
}

std::vector<token_id> scheduler::impl::block_input(sequence& s,
                                                   std::int64_t rows) {
  const auto offered = static_cast<std::int64_t>(s.offered.size()) + 1;
  int width = widest_block(s, std::min(rows, offered));
  auto input = verify_input(s.tokens.back(), s.offered, width, bursts.drafts,
                            bursts.widths);
  const auto size = [&] { return static_cast<std::int64_t>(input.size()); };
  while (s.held() < blocks_for(s.scheduled + size()) && can_take(s)) {
    s.blocks.push_back(take_block());
  }
  const std::int64_t fits = s.held() * block_tokens - s.scheduled;
  if (fits < size()) {
    width = bursts.widths.at_most(fits);
    input.resize(static_cast<std::size_t>(std::max(width, 1)));
    trim_blocks(s);
  }
  return input;
}

void scheduler::impl::add_verify(plan_draft& d, sequence& s,
                                 std::vector<token_id> input) {
  const auto rows = static_cast<std::int64_t>(input.size());
  step_item item;
  item.slot = s.slot;
  item.kind = row_kind::verify;
  item.position = static_cast<std::int32_t>(s.scheduled);
  item.tokens = std::move(input);
  item.blocks = s.blocks;
  s.scheduled += rows;
  s.verifying = rows;
  ++s.outstanding;
  s.last_step = d.work.id;
  s.tainted = s.tainted || bursts.inexact;
  d.expected.items.push_back({s.id,
                              s.epoch,
                              s.slot,
                              row_kind::verify,
                              rows,
                              s.scheduled,
                              rows,
                              0,
                              {item.tokens.begin() + 1, item.tokens.end()},
                              false});
  d.work.items.push_back(std::move(item));
  d.rows += rows;
  d.verify_rows += rows;
}

void scheduler::impl::trim_blocks(sequence& s) {
  while (s.held() > blocks_for(s.size())) {
    pool.drop_reference(s.blocks.back());
    s.blocks.pop_back();
  }
}

void scheduler::set_burst_rules(const burst_rules& rules) {
  impl_->bursts = rules;
}

std::vector<draft_wish> scheduler::draft_wishes() const {
  const impl& m = *impl_;
  std::vector<draft_wish> wishes;
  if (m.bursts.widths.empty()) return wishes;
  for (const sequence* s : m.running) {
    if (!s->speculate || s->prefilling() || s->outstanding > 0 ||
        s->max_tokens == 0) {
      continue;
    }
    const int most = m.widest_block(*s, max_round_width);
    if (most >= 2) wishes.push_back({s->id, s->slot, most});
  }
  return wishes;
}

step_load scheduler::classic_load(std::span<const draft_wish> wishes) const {
  const impl& m = *impl_;
  step_load load;
  std::int64_t prefill = 0;
  for (const sequence* s : m.running) {
    if (s->prefilling()) {
      prefill += std::min<std::int64_t>(s->prefill_end - s->scheduled,
                                        m.rules.prefill.chunk_tokens);
    } else if (s->outstanding == 0) {
      ++load.rows;
    }
  }
  load.rows -= static_cast<std::int64_t>(wishes.size());
  load.logits_rows = load.rows;
  load.tokens = load.rows;
  load.rows += std::clamp<std::int64_t>(prefill, 0, m.row_budget() - load.rows);
  return load;
}

std::span<const token_id> scheduler::tokens_of(sequence_id id) const {
  const auto found = impl_->all.find(id);
  if (found == impl_->all.end()) return {};
  return found->second->tokens;
}

void scheduler::offer(sequence_id id, std::span<const token_id> drafts) {
  const auto found = impl_->all.find(id);
  if (found == impl_->all.end() || !found->second->running ||
      found->second->outstanding > 0) {
    return;
  }
  found->second->offered.assign(drafts.begin(), drafts.end());
}

void scheduler::distrust() {
  impl& m = *impl_;
  m.clear_cache();
  for (sequence* s : std::vector{m.running}) m.preempt(*s, false);
}

}  // namespace vouch::engine
