#pragma once

#include <cstdint>
#include <functional>
#include <set>
#include <span>
#include <vector>

#include "engine/speculation/round.hpp"

namespace vouch::engine::testing {

inline std::uint64_t mix(std::uint64_t x) {
  x += 0x9e3779b97f4a7c15U;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9U;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebU;
  return x ^ (x >> 31);
}

/// Counted random numbers: the same ones on every machine.
class draws {
 public:
  explicit draws(std::uint64_t seed) : seed_{seed} {}
  std::uint64_t bits() { return mix(seed_ ^ mix(++count_)); }
  /// 0 ... below - 1.
  int below(int below) {
    return static_cast<int>(bits() % static_cast<std::uint64_t>(below));
  }
  int between(int least, int most) { return least + below(most - least + 1); }
  bool chance(double share) {
    return static_cast<double>(bits() >> 11) * 0x1p-53 < share;
  }

 private:
  std::uint64_t seed_;
  std::uint64_t count_ = 0;
};

/// A model whose pick is a function of the whole history, as the row contract
/// has it; some histories give a row in error (-1).
struct fake_target {
  std::uint64_t seed = 0;
  token_id vocabulary = 16;
  /// One row in so many is in error; 0: none.
  std::uint64_t one_error_in = 0;
  /// The last tokens that count, so that texts repeat themselves; 0: all.
  std::size_t order = 0;

  token_id pick(std::span<const token_id> history) const {
    if (order != 0 && history.size() > order) history = history.last(order);
    std::uint64_t h = seed;
    for (const token_id token : history) {
      h = mix(h ^ static_cast<std::uint64_t>(token));
    }
    if (one_error_in != 0 && (h >> 32) % one_error_in == 0) return -1;
    return static_cast<token_id>(h % static_cast<std::uint64_t>(vocabulary));
  }

  /// What a verify step gives: row i's history includes the drafts before it.
  std::vector<token_id> verify(std::vector<token_id> history,
                               std::span<const token_id> input) const {
    std::vector<token_id> picks;
    picks.push_back(pick(history));
    for (const token_id draft : input.subspan(1)) {
      history.push_back(draft);
      picks.push_back(pick(history));
    }
    return picks;
  }
};

/// A request as both loops serve it.
struct fake_request {
  /// At least one token; the prompt's cache rows are all but the last.
  std::vector<token_id> prompt;
  std::int64_t budget = 1;
  std::int64_t context = 1;
  std::vector<token_id> stop_tokens;
  /// Emitting these two in a row completes the stop string.
  std::vector<token_id> stop_pair;

  /// A stop string matcher that starts with nothing emitted.
  std::function<bool(token_id)> matcher() const {
    if (stop_pair.empty()) return {};
    return [pair = stop_pair, last = token_id{-1}](token_id token) mutable {
      const bool hit = last == pair[0] && token == pair[1];
      last = token;
      return hit;
    };
  }
};

/// What one-token steps give.
struct classic_run {
  std::vector<token_id> emitted;
  /// cache[k]: cache length when k tokens were emitted.
  std::vector<std::int64_t> cache;
  round_end end = round_end::none;
};

/// Written without settle_round, from what decoding means.
inline classic_run classic_loop(const fake_target& target,
                                const fake_request& request) {
  classic_run run;
  auto history = request.prompt;
  auto cached = static_cast<std::int64_t>(history.size()) - 1;
  run.cache.push_back(cached);
  const std::set<token_id> stops(request.stop_tokens.begin(),
                                 request.stop_tokens.end());
  token_id before = -1;
  while (run.end == round_end::none) {
    const token_id token = target.pick(history);
    if (token < 0) {
      run.end = round_end::failed;
      break;
    }
    ++cached;
    history.push_back(token);
    run.emitted.push_back(token);
    run.cache.push_back(cached);
    if (stops.contains(token)) {
      run.end = round_end::stop_token;
    } else if (!request.stop_pair.empty() && before == request.stop_pair[0] &&
               token == request.stop_pair[1]) {
      run.end = round_end::stop_string;
    } else if (std::ssize(run.emitted) >= request.budget) {
      run.end = round_end::budget;
    } else if (cached >= request.context) {
      run.end = round_end::context;
    }
    before = token;
  }
  return run;
}

}  // namespace vouch::engine::testing
