#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <vector>

#include "engine/speculation/controller.hpp"
#include "engine/speculation/round.hpp"
#include "tests/engine/speculation/fake_target.hpp"

namespace vouch::engine::testing {

/// How good one stream's drafts are, at a position of its text.
struct quality {
  /// Of the draft at an index, given that those before it were right.
  std::function<double(int index)> right;
  /// How often there is a proposal at all.
  double proposed = 1.0;
  int evidence = 0;
};

/// Streams that decode together until each has `length` tokens.
struct scene {
  int streams = 1;
  std::int64_t length = 2000;
  int most = 8;
  width_set vouched = width_set::up_to(8);
  std::function<quality(int stream, std::int64_t position)> at;
  std::function<double(std::int64_t rows, std::int64_t logits_rows)> step;
  /// Empty: a drafter that costs nothing, whose proposals come first.
  std::function<double(std::int64_t sequences, std::int64_t rows)> drafting;
  drafter_kind kind = drafter_kind::scripted;
  std::uint64_t seed = 1;
};

struct simulated {
  double seconds = 0.0;
  std::int64_t tokens = 0;
  /// Verified rows a round, over the rounds.
  double mean_width = 0.0;
  std::vector<double> stream_width;
  double rate() const { return static_cast<double>(tokens) / seconds; }
};

/// Plays a scene with widths from `choose`; drafts are right or wrong by
/// (stream, position, index), whoever chooses.
template <class Choose, class Observe>
simulated simulate(const scene& s, Choose choose, Observe observe) {
  simulated out;
  std::vector<std::int64_t> position(static_cast<std::size_t>(s.streams), 0);
  std::vector<std::int64_t> rows_of(position.size(), 0);
  std::vector<std::int64_t> rounds_of(position.size(), 0);
  const auto unit = [&s](std::size_t i, std::int64_t p, int index) {
    const auto h = mix(mix(mix(s.seed ^ i) ^ static_cast<std::uint64_t>(p)) ^
                       static_cast<std::uint64_t>(index + 1));
    return static_cast<double>(h >> 11) * 0x1p-53;
  };
  const auto truth = [](std::int64_t p) {
    return static_cast<token_id>(p % 1000);
  };
  const auto propose = [&](std::size_t i, int width) {
    draft proposal;
    const auto q = s.at(static_cast<int>(i), position[i]);
    proposal.evidence = q.evidence;
    if (unit(i, position[i], 99) >= q.proposed) return proposal;
    for (int k = 0; k < width - 1; ++k) {
      const bool right = unit(i, position[i] + k, k) < q.right(k);
      proposal.tokens.push_back(truth(position[i] + k) + (right ? 0 : 1000));
    }
    return proposal;
  };
  while (true) {
    std::vector<width_request> requests;
    std::vector<draft> proposals;
    for (std::size_t i = 0; i < position.size(); ++i) {
      if (position[i] >= s.length) continue;
      width_request r;
      r.id = i;
      r.most =
          round_width({s.most, s.length - position[i], 1'000'000}, s.vouched);
      draft proposal;
      if (!s.drafting) {
        proposal = propose(i, r.most);
        r.drafted = static_cast<int>(proposal.tokens.size());
        r.evidence = proposal.evidence;
      }
      requests.push_back(r);
      proposals.push_back(std::move(proposal));
    }
    if (requests.empty()) break;
    const std::vector<width_choice> choices = choose(requests);
    std::int64_t rows = 0;
    std::int64_t sequences = 0;
    std::int64_t draft_rows = 0;
    for (std::size_t k = 0; k < requests.size(); ++k) {
      const auto i = static_cast<std::size_t>(requests[k].id);
      if (s.drafting && choices[k].draft_width > 1) {
        proposals[k] = propose(i, choices[k].draft_width);
        ++sequences;
        draft_rows += choices[k].draft_width;
      }
      const auto input = verify_input(0, proposals[k].tokens, choices[k].width,
                                      {3000, {}}, s.vouched);
      rows += std::ssize(input);
      rows_of[i] += std::ssize(input);
      ++rounds_of[i];
      std::vector<token_id> picks;
      for (std::size_t row = 0; row < input.size(); ++row) {
        picks.push_back(truth(position[i] + static_cast<std::int64_t>(row)));
      }
      const auto outcome = settle_round(
          input, picks, {{}, s.length - position[i], 1'000'000, {}});
      out.tokens += std::ssize(outcome.emitted);
      position[i] += std::ssize(outcome.emitted);
      observe(requests[k].id, proposals[k], outcome.emitted);
    }
    out.seconds += s.step(rows, rows);
    if (sequences > 0) out.seconds += s.drafting(sequences, draft_rows);
  }
  std::int64_t all_rows = 0;
  std::int64_t all_rounds = 0;
  for (std::size_t i = 0; i < position.size(); ++i) {
    out.stream_width.push_back(static_cast<double>(rows_of[i]) /
                               static_cast<double>(rounds_of[i]));
    all_rows += rows_of[i];
    all_rounds += rounds_of[i];
  }
  out.mean_width =
      static_cast<double>(all_rows) / static_cast<double>(all_rounds);
  return out;
}

/// Every round as wide as `width` at most.
inline simulated run_fixed(const scene& s, int width) {
  return simulate(
      s,
      [&](const std::vector<width_request>& requests) {
        std::vector<width_choice> choices;
        for (const auto& r : requests) {
          width_choice c;
          c.width = c.draft_width = s.vouched.at_most(std::min(width, r.most));
          choices.push_back(c);
        }
        return choices;
      },
      [](sequence_id, const draft&, std::span<const token_id>) {});
}

inline width_controller controller_for(const scene& s) {
  controller_options options;
  options.prior = find_prior(s.kind, "cpu", "q4_1");
  options.step_seconds = s.step;
  options.draft_seconds = s.drafting;
  return width_controller{std::move(options)};
}

inline simulated run_controlled(const scene& s) {
  auto controller = controller_for(s);
  return simulate(
      s,
      [&](const std::vector<width_request>& requests) {
        return controller.choose(requests, s.vouched);
      },
      [&](sequence_id id, const draft& proposal,
          std::span<const token_id> emitted) {
        controller.observe(id, proposal, emitted);
      });
}

/// The controller's rate as a share of the best fixed width's, classic
/// included; over a few seeds, for a best width by luck is none.
inline double share_of_best_fixed(scene s, double* least = nullptr) {
  double controlled = 0.0;
  std::vector<double> fixed(static_cast<std::size_t>(s.most) + 1, 0.0);
  double lowest = 1.0;
  for (s.seed = 1; s.seed <= 4; ++s.seed) {
    const double mine = run_controlled(s).seconds;
    controlled += mine;
    double best = run_fixed(s, 1).seconds;
    fixed[1] += best;
    for (const int width : s.vouched.widths()) {
      const double seconds = run_fixed(s, width).seconds;
      fixed[static_cast<std::size_t>(width)] += seconds;
      best = std::min(best, seconds);
    }
    lowest = std::min(lowest, best / mine);
  }
  if (least != nullptr) *least = lowest;
  double best = fixed[1];
  for (const int width : s.vouched.widths()) {
    best = std::min(best, fixed[static_cast<std::size_t>(width)]);
  }
  return best / controlled;
}

}  // namespace vouch::engine::testing
