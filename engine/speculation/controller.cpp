#include "engine/speculation/controller.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <stdexcept>
#include <utility>

namespace vouch::engine {
namespace {

/// Observations that a sequence, and all of them together, remember.
constexpr double sequence_memory = 48.0;
constexpr double overall_memory = 512.0;
/// What a sequence forgets at the greatest surprise.
constexpr double sequence_doubt = 0.8;
/// Observations that the next wider source counts as.
constexpr double overall_weight = 3.0;
constexpr double prior_weight = 4.0;
/// What a sequence showed fades with the rounds in which nothing new was seen,
/// to 1/e in so many and no further than to the floor: a run of bad luck must
/// not keep it from drafting for good.
constexpr double fading_rounds = 24.0;
constexpr double fading_floor = 0.1;

}  // namespace

std::string_view name_of(width_source source) {
  constexpr std::array<std::string_view, 4> names{"none", "prior", "overall",
                                                  "sequence"};
  return names.at(static_cast<std::size_t>(source));
}

/// A sequence's block grows from one legal width to another.
struct width_controller::jump {
  std::size_t index = 0;
  int from = 1;
  int to = 1;
  double tokens = 0.0;
  double per_row() const { return tokens / (to - from); }
};

width_controller::width_controller(controller_options options)
    : options_{std::move(options)}, overall_{overall_memory} {
  if (!options_.step_seconds) {
    throw std::invalid_argument{"width controller: no step_seconds"};
  }
}

std::vector<double> width_controller::rates(sequence_id id, int evidence,
                                            int drafts) const {
  const auto it = sequences_.find(id);
  const auto& prior =
      options_.prior.by_evidence.at(static_cast<std::size_t>(evidence));
  double weight = overall_weight;
  if (it != sequences_.end()) {
    const auto idle = static_cast<double>(calls_ - it->second.seen);
    weight /= std::max(std::exp(-idle / fading_rounds), fading_floor);
  }
  std::vector<double> out;
  for (int i = 0; i < drafts; ++i) {
    double guess = overall_.rate(
        evidence, i, i == 0 ? prior.first : prior.later, prior_weight);
    if (it != sequences_.end()) {
      // A sequence that is better than others before will be so here.
      if (i > 0) guess = std::max(guess, 0.5 * (guess + out.back()));
      guess = it->second.counts.rate(evidence, i, guess, weight);
    }
    out.push_back(guess);
  }
  return out;
}

double width_controller::acceptance(sequence_id id, int evidence,
                                    int index) const {
  return rates(id, evidence, index + 1).back();
}

width_source width_controller::source_of(const width_request& request) const {
  const auto it = sequences_.find(request.id);
  if (it != sequences_.end() &&
      it->second.counts.trials(request.evidence, 0) > overall_weight) {
    return width_source::sequence;
  }
  return overall_.trials(request.evidence, 0) > prior_weight
             ? width_source::overall
             : width_source::prior;
}

/// The jumps over the legal widths' concave hull: each gains more a row than
/// the next one.
void width_controller::add_jumps(std::size_t index,
                                 const width_request& request, int most,
                                 const width_set& vouched,
                                 std::vector<jump>& jumps) const {
  const auto accepted = rates(request.id, request.evidence, most - 1);
  // tokens[w - 1]: expected of width w.
  std::vector<double> tokens{1.0};
  double all = 1.0;
  for (const double rate : accepted) {
    all *= rate;
    tokens.push_back(tokens.back() + all);
  }
  const auto gain = [&tokens](int from, int to) {
    return tokens[static_cast<std::size_t>(to - 1)] -
           tokens[static_cast<std::size_t>(from - 1)];
  };
  for (int from = 1; from < most;) {
    jump best;
    for (int to = vouched.next_above(from); to != 0 && to <= most;
         to = vouched.next_above(to)) {
      const jump next{index, from, to, gain(from, to)};
      if (best.to == 1 || next.per_row() > best.per_row()) best = next;
    }
    if (best.to == 1) break;
    jumps.push_back(best);
    from = best.to;
  }
}

double width_controller::draft_cost(std::int64_t sequences,
                                    std::int64_t rows) const {
  return options_.draft_seconds && sequences > 0
             ? options_.draft_seconds(sequences, rows)
             : 0.0;
}

std::vector<width_choice> width_controller::choose(
    std::span<const width_request> requests, const width_set& vouched,
    const step_load& load) {
  ++calls_;
  std::vector<width_choice> choices(requests.size());
  std::vector<jump> jumps;
  for (std::size_t i = 0; i < requests.size(); ++i) {
    const auto& request = requests[i];
    int most = std::min(request.most, max_round_width);
    if (request.drafted) most = std::min(most, *request.drafted + 1);
    most = vouched.at_most(most);
    if (most < 2) continue;
    choices[i].source = source_of(request);
    add_jumps(i, request, most, vouched, jumps);
  }
  std::stable_sort(
      jumps.begin(), jumps.end(),
      [](const auto& a, const auto& b) { return a.per_row() > b.per_row(); });

  const auto count = static_cast<std::int64_t>(requests.size());
  std::int64_t rows = load.rows + count;
  std::int64_t logits_rows = load.logits_rows + count;
  double tokens = static_cast<double>(load.tokens + count);
  std::int64_t drafting = 0;
  std::int64_t draft_rows = 0;
  double seconds = options_.step_seconds(rows, logits_rows);
  // Without a cost model there is nothing to weigh: all is classic.
  double best_rate = seconds > 0.0
                         ? (1.0 + options_.least_gain) * tokens / seconds
                         : std::numeric_limits<double>::infinity();
  std::size_t best = 0;
  for (std::size_t k = 0; k < jumps.size(); ++k) {
    const auto& next = jumps[k];
    rows += next.to - next.from;
    logits_rows += next.to - next.from;
    tokens += next.tokens;
    if (!requests[next.index].drafted) {
      drafting += next.from == 1 ? 1 : 0;
      draft_rows += next.to - (next.from == 1 ? 0 : next.from);
    }
    const double cost = options_.step_seconds(rows, logits_rows) +
                        draft_cost(drafting, draft_rows);
    if (tokens > best_rate * cost) {
      best_rate = tokens / cost;
      seconds = cost;
      best = k + 1;
    }
  }
  for (std::size_t k = 0; k < best; ++k) {
    auto& choice = choices[jumps[k].index];
    choice.width = choice.draft_width = jumps[k].to;
    choice.tokens += jumps[k].tokens;
  }
  explore(requests, seconds, choices);
  return choices;
}

void width_controller::explore(std::span<const width_request> requests,
                               double seconds,
                               std::vector<width_choice>& choices) {
  std::int64_t sequences = 0;
  std::int64_t rows = 0;
  std::vector<std::pair<std::uint64_t, std::size_t>> waiting;
  for (std::size_t i = 0; i < requests.size(); ++i) {
    const auto& request = requests[i];
    if (request.drafted) {
      choices[i].draft_width = *request.drafted + 1;
      continue;
    }
    if (choices[i].width > 1) {
      ++sequences;
      rows += choices[i].width;
    }
    if (choices[i].source != width_source::none &&
        choices[i].width < request.most) {
      const auto it = sequences_.find(request.id);
      waiting.emplace_back(it == sequences_.end() ? 0 : it->second.explored, i);
    }
  }
  // At most two steps' time is saved up.
  credit_ = std::min(credit_ + options_.explore_share * seconds, 2.0 * seconds);
  std::sort(waiting.begin(), waiting.end());
  for (const auto& [when, i] : waiting) {
    auto& choice = choices[i];
    const int to = std::min(requests[i].most, max_round_width);
    const auto more_sequences = sequences + (choice.width == 1 ? 1 : 0);
    const auto more_rows = rows + to - (choice.width == 1 ? 0 : choice.width);
    const double cost =
        draft_cost(more_sequences, more_rows) - draft_cost(sequences, rows);
    if (cost > credit_) break;
    credit_ -= std::max(cost, 0.0);
    sequences = more_sequences;
    rows = more_rows;
    choice.draft_width = to;
    const auto it = sequences_.find(requests[i].id);
    if (it != sequences_.end()) it->second.explored = calls_;
  }
}

void width_controller::observe(sequence_id id, const draft& proposal,
                               std::span<const token_id> emitted) {
  auto it = sequences_.find(id);
  if (it == sequences_.end()) {
    if (proposal.tokens.empty()) return;
    it = sequences_
             .emplace(id, sequence_state{acceptance_counts{sequence_memory,
                                                           sequence_doubt},
                                         {},
                                         calls_,
                                         calls_})
             .first;
  }
  auto& counts = it->second.counts;
  it->second.judge.judge(proposal, emitted,
                         [&](int evidence, int index, bool accepted) {
                           counts.observe(evidence, index, accepted);
                           it->second.seen = calls_;
                           overall_.observe(evidence, index, accepted);
                         });
}

}  // namespace vouch::engine
