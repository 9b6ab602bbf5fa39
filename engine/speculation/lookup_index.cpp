#include "engine/speculation/lookup_index.hpp"

#include <algorithm>
#include <limits>
#include <stdexcept>
#include <utility>

namespace vouch::engine {
namespace {

constexpr std::size_t first_slots = 64;

/// The finaliser of SplitMix64 (Steele, Lea, Flood, "Fast splittable
/// pseudorandom number generators", OOPSLA 2014).
std::uint64_t mix(std::uint64_t x) {
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9U;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebU;
  return x ^ (x >> 31);
}

}  // namespace

lookup_index::lookup_index(const lookup_options& options) : options_{options} {
  if (options.n_min < 1 || options.n_max < options.n_min ||
      options.n_max > longest_match) {
    throw std::invalid_argument{
        "lookup: n_min and n_max must satisfy 1 <= n_min <= n_max <= 16"};
  }
  if (options.max_positions < 2 * longest_match ||
      options.max_positions > std::numeric_limits<std::int32_t>::max() / 4) {
    throw std::invalid_argument{
        "lookup: max_positions must be 32 to 536870911"};
  }
  tables_.resize(1 + static_cast<std::size_t>(options.n_max - options.n_min));
}

/// The slot that holds the n-gram ending at `end`, or the free one where it
/// belongs.
std::size_t lookup_index::probe(const table& t, int n,
                                std::span<const token_id> history,
                                std::int64_t end) const {
  const auto gram = history.subspan(static_cast<std::size_t>(end - n + 1),
                                    static_cast<std::size_t>(n));
  std::uint64_t hash = options_.key;
  for (const token_id token : gram) {
    hash = mix(hash + 0x9e3779b97f4a7c15U + static_cast<std::uint32_t>(token));
  }
  const std::size_t mask = t.slots.size() - 1;
  std::size_t slot = hash & mask;
  for (std::size_t looked = 1;; ++looked, slot = (slot + 1) & mask) {
    longest_probe_ = std::max(longest_probe_, looked);
    if (t.slots[slot] == 0) return slot;
    const auto there = static_cast<std::size_t>(t.slots[slot] - n);
    if (std::equal(gram.begin(), gram.end(), history.begin() + there)) {
      return slot;
    }
  }
}

void lookup_index::insert(int n, std::span<const token_id> history,
                          std::int64_t end) {
  auto& t = tables_[static_cast<std::size_t>(n - options_.n_min)];
  if (t.slots.size() < 2 * (t.used + 1)) grow(n, history);
  auto& slot = t.slots[probe(t, n, history, end)];
  if (slot == 0) ++t.used;
  slot = static_cast<std::int32_t>(end + 1);
}

void lookup_index::grow(int n, std::span<const token_id> history) {
  auto& t = tables_[static_cast<std::size_t>(n - options_.n_min)];
  const auto size = std::max(first_slots, 2 * t.slots.size());
  const auto old = std::exchange(t.slots, std::vector<std::int32_t>(size));
  for (const std::int32_t entry : old) {
    if (entry != 0) t.slots[probe(t, n, history, entry - 1)] = entry;
  }
}

/// Begins anew with the newer half. Costs half an index every half an index,
/// so a constant a token.
void lookup_index::forget(std::span<const token_id> history) {
  begin_ = indexed_ - options_.max_positions / 2;
  for (int n = options_.n_min; n <= options_.n_max; ++n) {
    auto& t = tables_[static_cast<std::size_t>(n - options_.n_min)];
    std::fill(t.slots.begin(), t.slots.end(), 0);
    t.used = 0;
    for (auto end = begin_ + n - 1; end < indexed_; ++end) {
      insert(n, history, end);
    }
  }
}

void lookup_index::commit(std::span<const token_id> history) {
  const auto size = std::ssize(history);
  if (size < indexed_ + (indexed_ > 0 ? 1 : 0)) {
    throw std::invalid_argument{"lookup: the history has become shorter"};
  }
  // The n-gram at the end is left out: it must not match itself.
  for (; indexed_ + 1 < size; ++indexed_) {
    if (indexed_ - begin_ >= options_.max_positions) forget(history);
    for (int n = options_.n_min; n <= options_.n_max; ++n) {
      if (indexed_ - n + 1 >= begin_) insert(n, history, indexed_);
    }
  }
}

std::optional<lookup_index::match> lookup_index::find(
    std::span<const token_id> history) const {
  const auto end = std::ssize(history) - 1;
  for (int n = options_.n_max; n >= options_.n_min; --n) {
    const auto& t = tables_[static_cast<std::size_t>(n - options_.n_min)];
    if (end - n + 1 < 0 || t.used == 0) continue;
    const std::int32_t entry = t.slots[probe(t, n, history, end)];
    if (entry == 0) continue;
    match found{.next = entry, .length = n};
    const auto at = [&history](std::int64_t position) {
      return history[static_cast<std::size_t>(position)];
    };
    while (found.length < longest_match && found.next - found.length > 0 &&
           at(found.next - 1 - found.length) == at(end - found.length)) {
      ++found.length;
    }
    return found;
  }
  return {};
}

std::size_t lookup_index::bytes() const {
  std::size_t sum = 0;
  for (const auto& t : tables_) {
    sum += t.slots.capacity() * sizeof(std::int32_t);
  }
  return sum;
}

}  // namespace vouch::engine
