// A waiting sequence gets its slot, its blocks and what is computed already.
#include <algorithm>
#include <cmath>

#include "engine/schedule/state.hpp"

namespace vouch::engine {

/// Rows the sequence will have at its longest: the last token needs none.
std::int64_t scheduler::impl::rows_at_most(const sequence& s) const {
  return std::max(s.size(), s.prompt_tokens + s.max_tokens - 1);
}

/// What need not be computed: the leader's prompt for a sibling, else cached
/// blocks. The last known token's row is always computed, for its pick; where
/// it shares a block with rows that are there, that block is copied.
scheduler::impl::prefix scheduler::impl::find_prefix(const sequence& s) const {
  prefix p;
  if (s.prompt_logprobs) return p;
  const std::int64_t last = s.size() - 1;
  std::vector<block_id> source;
  std::int64_t rows = 0;
  const auto leader = all.find(s.sibling_of);
  if (!s.preempted && leader != all.end() && leader->second->running &&
      leader->second->computed >= s.prompt_tokens) {
    source = leader->second->blocks;
    rows = s.prompt_tokens;
  } else if (rules.cache.prefix_cache) {
    source = cache.find(s.tokens);
    rows = static_cast<std::int64_t>(source.size()) * block_tokens;
    p.from_cache = true;
  }
  p.rows = std::min(rows, last);
  const auto whole = static_cast<std::size_t>(p.rows / block_tokens);
  p.shared.assign(source.begin(),
                  source.begin() + static_cast<std::ptrdiff_t>(whole));
  if (p.rows % block_tokens != 0) p.copy_from = source[whole];
  return p;
}

/// The prefix's blocks are referenced already, so that they do not count as
/// available any more.
bool scheduler::impl::has_room(const sequence& s, const prefix& p) const {
  const std::int64_t rows =
      rules.cache.reserve_full ? rows_at_most(s) : s.size();
  const std::int64_t needed =
      blocks_for(rows) - static_cast<std::int64_t>(p.shared.size());
  std::int64_t kept = 0;
  if (!running.empty()) {
    kept = static_cast<std::int64_t>(
        std::floor(rules.cache.watermark * pool.size()));
  }
  return available() >= needed + kept;
}

scheduler::impl::admittance scheduler::impl::try_admit(sequence& s,
                                                       bool allow_long) {
  if (free_slots.empty() && !lent_slots.empty()) wants_loans = true;
  if (free_slots.empty() ||
      static_cast<std::int64_t>(running.size()) >= rules.limits.max_running) {
    return admittance::no_room;
  }
  prefix p = find_prefix(s);
  if (!allow_long && is_long(s.size() - p.rows)) return admittance::too_long;
  for (const block_id b : p.shared) pool.add_reference(b);
  if (p.copy_from >= 0) pool.add_reference(p.copy_from);
  bool room = has_room(s, p);
  if (!room && p.copy_from >= 0) {
    // The copy needs its source beside it for a step; in a pool that is as
    // small as the sequence there is no place for both.
    pool.drop_reference(p.copy_from);
    p.copy_from = -1;
    p.rows = static_cast<std::int64_t>(p.shared.size()) * block_tokens;
    room = has_room(s, p);
  }
  if (!room && drop_holds()) room = has_room(s, p);
  if (!room) {
    for (const block_id b : p.shared) pool.drop_reference(b);
    wants_loans = wants_loans || !lent_blocks.empty();
    return admittance::no_room;
  }
  if (faults) spoil_prefix(s, p);
  start(s, p);
  return admittance::admitted;
}

void scheduler::impl::start(sequence& s, const prefix& p) {
  waiting.erase(std::find(waiting.begin(), waiting.end(), &s));
  if (!s.preempted) {
    s.admitted_ms = now_ms;
    charge_admission(s);
    count_queued(s, -1);
    // A request's prompt is looked up once, however many choices it has.
    const bool counts = !s.follows;
    if (counts && rules.cache.prefix_cache && !s.prompt_logprobs) {
      counters.prefix_queries += static_cast<std::uint64_t>(s.prompt_tokens);
    }
    if (counts && p.from_cache) {
      s.cached_tokens = p.rows;
      counters.prefix_hits += static_cast<std::uint64_t>(p.rows);
    }
  }
  if (p.from_cache && p.rows > 0) cache.touch(s.tokens);

  s.blocks = p.shared;
  while (s.held() < blocks_for(s.size())) s.blocks.push_back(take_block());
  if (p.copy_from >= 0) s.copy = {p.copy_from, s.blocks[p.shared.size()]};
  s.reserved = rules.cache.reserve_full ? blocks_for(rows_at_most(s)) : 0;
  s.prefill_end = s.size();
  s.scheduled = p.rows;
  s.computed = p.rows;
  s.outstanding = 0;
  s.registered = 0;
  s.node = {};
  s.mixed_path = false;
  if (faults) spoil_resumption(s);
  s.cached_prefix = p.rows > 0;
  if (!p.from_cache && p.rows > 0) {
    s.mixed_path = all.at(s.sibling_of)->mixed_path;
  }
  ++s.epoch;

  s.slot = *free_slots.begin();
  free_slots.erase(free_slots.begin());
  opened.push_back(
      {s.slot, s.sampling, static_cast<std::int32_t>(s.prompt_tokens)});
  if (p.rows > 0) {
    histories.push_back(
        {s.slot, {s.tokens.begin(), s.tokens.begin() + p.rows}});
  }
  s.running = true;
  running.push_back(&s);
}

}  // namespace vouch::engine
