// What the gate borrows, and what its audits hold.
#include <algorithm>
#include <memory>
#include <utility>

#include "engine/schedule/state.hpp"

namespace vouch::engine {

std::optional<loan> scheduler::lend(std::int64_t blocks, std::int64_t slots) {
  impl& m = *impl_;
  if (m.available() < blocks ||
      static_cast<std::int64_t>(m.free_slots.size()) < slots) {
    return std::nullopt;
  }
  loan lent;
  while (static_cast<std::int64_t>(lent.blocks.size()) < blocks) {
    lent.blocks.push_back(m.take_block());
    m.lent_blocks.insert(lent.blocks.back());
  }
  // From the other end than sequences take them.
  while (static_cast<std::int64_t>(lent.slots.size()) < slots) {
    const auto last = std::prev(m.free_slots.end());
    lent.slots.push_back(*last);
    m.lent_slots.insert(*last);
    m.free_slots.erase(last);
  }
  return lent;
}

void scheduler::take_back(const loan& lent) {
  impl& m = *impl_;
  for (const block_id block : lent.blocks) {
    if (m.lent_blocks.erase(block) > 0) m.pool.drop_reference(block);
  }
  for (const slot_id slot : lent.slots) {
    if (m.lent_slots.erase(slot) > 0) m.free_slots.insert(slot);
  }
  m.wants_loans = m.wants_loans && !m.lent_blocks.empty();
}

bool scheduler::wants_loans_back() const { return impl_->wants_loans; }

void scheduler::set_audit_draw(audit_draw draw) {
  impl_->draw = std::move(draw);
}

std::vector<audit_record> scheduler::take_audited() {
  return std::exchange(impl_->audited, {});
}

void scheduler::release_hold(std::uint64_t hold) {
  impl& m = *impl_;
  const auto found = m.holds.find(hold);
  if (found == m.holds.end()) return;
  for (const block_id block : found->second) m.pool.drop_reference(block);
  m.holds.erase(found);
}

std::vector<std::uint64_t> scheduler::take_dropped_holds() {
  return std::exchange(impl_->dropped_holds, {});
}

bool scheduler::impl::drop_holds() {
  if (holds.empty()) return false;
  for (const auto& [hold, blocks] : holds) {
    for (const block_id block : blocks) pool.drop_reference(block);
    dropped_holds.push_back(hold);
  }
  holds.clear();
  return true;
}

void scheduler::impl::draw_audits(plan_draft& d) {
  if (!draw) return;
  bool drawn = false;
  for (std::size_t i = 0; i < d.work.items.size(); ++i) {
    step_item& item = d.work.items[i];
    expected_item& expected = d.expected.items[i];
    const sequence& s = *all.at(expected.id);
    // A row whose input is still to be picked has no tokens to replay yet.
    if (item.input_is_last_pick) continue;
    expected.audited = draw({s.id, item.kind, item.position, expected.rows,
                             d.rows, s.cached_prefix, d.work.items.size() > 1});
    item.hash_logits = expected.audited;
    drawn = drawn || expected.audited;
  }
  if (drawn) d.expected.work = std::make_shared<const step>(d.work);
}

void scheduler::impl::record_audit(const sequence& s,
                                   const expected_item& expected,
                                   const step_item_result& item,
                                   std::int64_t kept,
                                   const std::shared_ptr<const step>& work) {
  const std::int64_t begin = expected.end - expected.rows;
  audit_record record;
  record.hold = ++last_hold;
  record.id = s.id;
  record.kind = expected.kind;
  record.cached_prefix = s.cached_prefix;
  record.batched = work->items.size() > 1;
  record.position = static_cast<std::int32_t>(begin);
  record.rows = static_cast<std::int32_t>(kept);
  record.tokens.assign(s.tokens.begin(), s.tokens.begin() + begin + kept);
  const auto next = begin + kept;
  if (next < s.size()) record.next = s.tokens[static_cast<std::size_t>(next)];
  record.sampling = s.sampling;
  record.prompt_tokens = static_cast<std::int32_t>(s.prompt_tokens);
  const auto logits = static_cast<std::int64_t>(item.logits_hashes.size());
  record.hash_begin =
      static_cast<std::int32_t>(std::min(expected.rows - logits, kept));
  const auto hashed = static_cast<std::size_t>(kept - record.hash_begin);
  record.logits_hashes = item.logits_hashes;
  record.logits_hashes.resize(hashed);
  record.logits_states = item.logits_states;
  record.logits_states.resize(hashed);
  record.blocks.assign(s.blocks.begin(),
                       s.blocks.begin() + blocks_for(begin + kept));
  record.work = work;
  for (const block_id block : record.blocks) pool.add_reference(block);
  holds.emplace(record.hold, record.blocks);
  audited.push_back(std::move(record));
}

}  // namespace vouch::engine
