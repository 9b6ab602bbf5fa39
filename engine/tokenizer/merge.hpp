#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <queue>
#include <tuple>
#include <utility>
#include <vector>

#include "engine/types.hpp"

namespace vouch::engine {

/// A token in the making: a stretch of the piece, and its id where it has one
/// (SPM begins with characters that need not be tokens).
struct merge_symbol {
  token_id id = -1;
  std::uint32_t begin = 0;
  std::uint32_t bytes = 0;
};

/// What two neighbours would become; lower ranks first.
struct merge_candidate {
  static constexpr std::uint32_t never =
      std::numeric_limits<std::uint32_t>::max();
  std::uint32_t rank = never;
  token_id id = -1;
};

namespace detail {

/// Quadratic in the number of symbols, but without a heap: for words.
template <class Lookup>
void merge_few(std::vector<merge_symbol>& symbols, const Lookup& lookup,
               std::vector<merge_candidate>& pairs) {
  pairs.clear();
  for (std::size_t i = 0; i + 1 < symbols.size(); ++i) {
    pairs.push_back(lookup(symbols[i], symbols[i + 1]));
  }
  while (!pairs.empty()) {
    std::size_t best = 0;
    for (std::size_t i = 1; i < pairs.size(); ++i) {
      if (pairs[i].rank < pairs[best].rank) best = i;
    }
    if (pairs[best].rank == merge_candidate::never) return;
    symbols[best].id = pairs[best].id;
    symbols[best].bytes += symbols[best + 1].bytes;
    const auto offset = static_cast<std::ptrdiff_t>(best);
    symbols.erase(symbols.begin() + offset + 1);
    pairs.erase(pairs.begin() + offset);
    if (best < pairs.size()) {
      pairs[best] = lookup(symbols[best], symbols[best + 1]);
    }
    if (best > 0) {
      pairs[best - 1] = lookup(symbols[best - 1], symbols[best]);
    }
  }
}

struct merge_link {
  static constexpr std::uint32_t none = merge_candidate::never;
  std::uint32_t previous = none;
  std::uint32_t next = none;
  /// With its right neighbour.
  merge_candidate pair;
  bool gone = false;
};

/// At most three heap entries a symbol: n log n for any text.
template <class Lookup>
void merge_many(std::vector<merge_symbol>& symbols, const Lookup& lookup) {
  constexpr std::uint32_t none = merge_candidate::never;
  const auto count = static_cast<std::uint32_t>(symbols.size());
  std::vector<merge_link> links(count);
  using entry = std::pair<std::uint32_t, std::uint32_t>;  // rank, position
  std::vector<entry> first;
  for (std::uint32_t i = 0; i < count; ++i) {
    if (i > 0) links[i].previous = i - 1;
    if (i + 1 == count) break;
    links[i].next = i + 1;
    links[i].pair = lookup(symbols[i], symbols[i + 1]);
    if (links[i].pair.rank != none) first.emplace_back(links[i].pair.rank, i);
  }
  std::priority_queue<entry, std::vector<entry>, std::greater<>> heap{
      std::greater<>{}, std::move(first)};
  const auto look_again = [&](std::uint32_t i) {
    merge_link& at = links[i];
    at.pair = at.next == none ? merge_candidate{}
                              : lookup(symbols[i], symbols[at.next]);
    if (at.pair.rank != none) heap.emplace(at.pair.rank, i);
  };
  while (!heap.empty()) {
    const auto [rank, i] = heap.top();
    heap.pop();
    merge_link& at = links[i];
    // An entry whose pair has changed since is stale.
    if (at.gone || at.pair.rank != rank) continue;
    const std::uint32_t right = at.next;
    symbols[i].id = at.pair.id;
    symbols[i].bytes += symbols[right].bytes;
    links[right].gone = true;
    at.next = links[right].next;
    if (at.next != none) links[at.next].previous = i;
    look_again(i);
    if (at.previous != none) look_again(at.previous);
  }
  std::size_t kept = 0;
  for (std::uint32_t i = 0; i < count; ++i) {
    if (!links[i].gone) symbols[kept++] = symbols[i];
  }
  symbols.resize(kept);
}

}  // namespace detail

/// Repeatedly joins the neighbours of lowest rank, the leftmost of equals,
/// until none can be joined. `lookup(left, right)` answers a merge_candidate.
template <class Lookup>
void merge_all(std::vector<merge_symbol>& symbols, const Lookup& lookup,
               std::vector<merge_candidate>& scratch) {
  constexpr std::size_t few = 32;
  if (symbols.size() <= few) {
    detail::merge_few(symbols, lookup, scratch);
  } else {
    detail::merge_many(symbols, lookup);
  }
}

}  // namespace vouch::engine
