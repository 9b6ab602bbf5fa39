// What must hold after every call.
#include <algorithm>
#include <string>

#include "engine/schedule/state.hpp"

namespace vouch::engine {

/// Every reference of the pool is accounted for, and free blocks have none.
std::string scheduler::impl::check_blocks() const {
  std::vector<std::int32_t> refs(static_cast<std::size_t>(pool.size()));
  const auto hold = [&](block_id b) { ++refs[static_cast<std::size_t>(b)]; };
  for (const sequence* s : running) {
    for (const block_id b : s->blocks) hold(b);
    if (s->copy.from >= 0) hold(s->copy.from);
  }
  for (const grave& g : graves) {
    for (const block_id b : g.blocks) hold(b);
  }
  for (const auto& [id, blocks] : holds) {
    for (const block_id b : blocks) hold(b);
  }
  for (const block_id b : lent_blocks) hold(b);
  const auto cached = cache.blocks();
  for (const block_id b : cached) hold(b);
  std::int32_t unused = 0;
  std::int32_t only_cached = 0;
  for (block_id b = 0; b < pool.size(); ++b) {
    const auto held = refs[static_cast<std::size_t>(b)];
    if (held != pool.references(b)) {
      return "block " + std::to_string(b) + " has " +
             std::to_string(pool.references(b)) + " references, not " +
             std::to_string(held);
    }
    unused += held == 0 ? 1 : 0;
  }
  for (const block_id b : cached) {
    only_cached += pool.references(b) == 1 ? 1 : 0;
  }
  if (unused != pool.free()) return "the free list has another size";
  if (only_cached != pool.only_cached()) return "cached blocks are miscounted";
  if (available() < 0) return "reservations are larger than what is left";
  return cache.check();
}

std::string scheduler::impl::check_slots() const {
  std::set<slot_id> used = free_slots;
  std::size_t count = free_slots.size();
  for (const sequence* s : running) {
    used.insert(s->slot);
    ++count;
  }
  for (const grave& g : graves) {
    if (g.after <= completed) return "a grave outlived its step";
    if (g.slot < 0) continue;
    used.insert(g.slot);
    ++count;
  }
  for (const slot_id slot : lent_slots) {
    used.insert(slot);
    ++count;
  }
  if (count != static_cast<std::size_t>(limits.slots) || used.size() != count ||
      (count > 0 && (*used.begin() < 0 || *used.rbegin() >= limits.slots))) {
    return "slots are lost or doubled";
  }
  return {};
}

std::string scheduler::impl::check_sequence(const sequence& s) const {
  const std::string name = "sequence " + std::to_string(s.id) + ": ";
  if (s.max_tokens > 0 && s.generated() >= s.max_tokens) {
    return name + "lives past max_tokens";
  }
  if (!s.running) {
    if (!s.blocks.empty() || s.slot >= 0 || s.copy.from >= 0 ||
        s.outstanding != 0 || s.scheduled != 0) {
      return name + "holds something while it waits";
    }
    return {};
  }
  if (s.computed > s.scheduled) return name + "more rows computed than planned";
  if (s.outstanding < 0 || s.outstanding > static_cast<int>(max_in_flight)) {
    return name + "has an odd number of picks in flight";
  }
  if (s.scheduled > s.size() + std::max<std::int64_t>(
                                   {0, s.outstanding - 1, s.verifying - 1})) {
    return name + "rows were planned for tokens that nobody will pick";
  }
  if (s.outstanding == 0 && s.scheduled >= s.size()) {
    return name + "has no row left to pick from";
  }
  if (s.held() < blocks_for(s.scheduled)) return name + "rows without blocks";
  if (s.registered * block_tokens > s.computed) {
    return name + "rows that were not computed are cached";
  }
  return {};
}

/// Two sequences share a block only at the same place, behind equal tokens,
/// and only where all its rows are computed.
std::string scheduler::impl::check_sharing() const {
  std::map<block_id, std::pair<const sequence*, std::size_t>> seen;
  for (const sequence* s : running) {
    for (std::size_t i = 0; i < s->blocks.size(); ++i) {
      const auto [it, first] = seen.try_emplace(s->blocks[i], s, i);
      if (first) continue;
      const auto& [other, place] = it->second;
      const auto end = static_cast<std::int64_t>(i + 1) * block_tokens;
      const bool equal = other != s && place == i && s->computed >= end &&
                         other->computed >= end &&
                         std::equal(s->tokens.begin(), s->tokens.begin() + end,
                                    other->tokens.begin());
      if (!equal) {
        return "block " + std::to_string(s->blocks[i]) +
               " is shared by sequences that differ";
      }
    }
  }
  return {};
}

std::string scheduler::check_invariants() const {
  const impl& m = *impl_;
  if (auto wrong = m.check_blocks(); !wrong.empty()) return wrong;
  if (auto wrong = m.check_slots(); !wrong.empty()) return wrong;
  std::int64_t queued = 0;
  std::int64_t queued_tokens = 0;
  for (const auto& [id, s] : m.all) {
    if (auto wrong = m.check_sequence(*s); !wrong.empty()) return wrong;
    if (s->running || s->preempted || s->follows) continue;
    ++queued;
    queued_tokens += s->prompt_tokens;
  }
  if (m.running.size() + m.waiting.size() != m.all.size()) {
    return "a sequence neither waits nor runs";
  }
  if (queued != m.queued || queued_tokens != m.queued_tokens) {
    return "the queue is miscounted";
  }
  if (!std::is_sorted(m.waiting.begin(), m.waiting.end(),
                      [](const sequence* a, const sequence* b) {
                        return a->arrival < b->arrival;
                      })) {
    return "the queue is not by arrival";
  }
  if (m.flights.size() > m.max_in_flight) return "too many steps in flight";
  return m.check_sharing();
}

}  // namespace vouch::engine
