// What is held, what is given back, and when.
#include <algorithm>
#include <stdexcept>

#include "engine/schedule/state.hpp"

namespace vouch::engine {

std::int64_t scheduler::impl::available() const {
  std::int64_t blocks = pool.free() + pool.only_cached();
  for (const sequence* s : running) blocks -= s->unclaimed();
  return blocks;
}

block_id scheduler::impl::take_block() {
  if (pool.free() == 0 && !cache.evict_one()) {
    throw std::logic_error{"scheduler: no block is free"};
  }
  return pool.take();
}

void scheduler::impl::register_blocks(sequence& s) {
  if (!rules.cache.prefix_cache || s.prompt_logprobs || s.tainted) return;
  // Rows of tokens that were not emitted never count.
  const std::int64_t full = std::min(s.computed, s.size()) / block_tokens;
  while (s.registered < full) {
    const std::span<const token_id> key{
        s.tokens.data() + s.registered * block_tokens,
        static_cast<std::size_t>(block_tokens)};
    block_id& own = s.blocks[static_cast<std::size_t>(s.registered)];
    auto node = cache.child(s.node, key);
    if (!cache.valid(node)) {
      // Whoever shares this block must hold the cache's blocks before it, or
      // those would look free while they are not.
      if (s.mixed_path && pool.references(own) > 1) return;
      node = cache.insert(s.node, key, own);
    } else if (const block_id twin = cache.block(node); twin != own) {
      // Somebody computed the same block first. Equal prefixes have equal
      // rows, so the sequence goes on with that one, if no reservation needs
      // it; its own stays for as long as a step in flight reads it.
      if (pool.references(twin) == 1 && available() <= 0) return;
      pool.add_reference(twin);
      const grave g{s.last_step, {own}, -1};
      own = twin;
      s.mixed_path = true;
      if (g.after > completed) {
        graves.push_back(g);
      } else {
        bury(g);
      }
    }
    s.node = node;
    ++s.registered;
  }
}

void scheduler::impl::give_back(sequence& s, bool keep_in_cache) {
  if (keep_in_cache) {
    register_blocks(s);
    if (rules.cache.prefix_cache && !s.prompt_logprobs && !s.tainted) {
      cache.touch(std::span{s.tokens}.first(
          static_cast<std::size_t>(std::min(s.computed, s.size()))));
    }
  }
  // A copy that was not planned yet will not be.
  if (s.copy.from >= 0) pool.drop_reference(s.copy.from);
  s.copy = {};
  grave g{s.last_step, std::move(s.blocks), s.slot};
  s.blocks.clear();
  s.slot = -1;
  s.running = false;
  s.reserved = 0;
  s.registered = 0;
  s.node = {};
  running.erase(std::find(running.begin(), running.end(), &s));
  if (g.after > completed) {
    graves.push_back(std::move(g));
  } else {
    bury(g);
  }
}

void scheduler::impl::bury(const grave& g) {
  for (const block_id block : g.blocks) pool.drop_reference(block);
  if (g.slot < 0) return;
  free_slots.insert(g.slot);
  // A slot whose opening was never handed out needs no release.
  const auto open = std::find_if(
      opened.begin(), opened.end(),
      [&](const slot_start& start) { return start.slot == g.slot; });
  if (open == opened.end()) {
    released.push_back(g.slot);
    return;
  }
  opened.erase(open);
  std::erase_if(histories, [&](const planned_step::history& history) {
    return history.slot == g.slot;
  });
}

void scheduler::impl::release_graves() {
  std::vector<grave> kept;
  for (grave& g : graves) {
    if (g.after > completed) {
      kept.push_back(std::move(g));
    } else {
      bury(g);
    }
  }
  graves = std::move(kept);
}

void scheduler::impl::clear_cache() {
  cache.clear();
  for (sequence* s : running) {
    s->registered = 0;
    s->node = {};
    s->mixed_path = true;
  }
}

void scheduler::impl::erase(sequence& s, bool keep_in_cache) {
  if (s.running) {
    give_back(s, keep_in_cache);
  } else {
    waiting.erase(std::find(waiting.begin(), waiting.end(), &s));
    if (!s.preempted) count_queued(s, -1);
  }
  shares.leave(s.tenant);
  all.erase(s.id);
}

}  // namespace vouch::engine
