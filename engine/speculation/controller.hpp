#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "engine/speculation/acceptance.hpp"
#include "engine/speculation/drafter.hpp"
#include "engine/speculation/prior_table.hpp"
#include "engine/speculation/step_load.hpp"
#include "engine/speculation/width_set.hpp"
#include "engine/types.hpp"

namespace vouch::engine {

/// What a width was decided by.
enum class width_source : std::uint8_t {
  /// There was no choice: no drafts, or no width but 1.
  none,
  /// The table, nothing having been seen.
  prior,
  /// What all sequences' drafts did.
  overall,
  /// What this sequence's drafts did.
  sequence,
};
/// "none", "prior", "overall", "sequence".
std::string_view name_of(width_source source);

struct controller_options {
  acceptance_prior prior;
  /// Seconds of a step of `rows` rows, `logits_rows` of them with logits
  /// (engine/executor/cost_model.hpp).
  std::function<double(std::int64_t rows, std::int64_t logits_rows)>
      step_seconds;
  /// Seconds of drafting for so many sequences, blocks of `rows` rows in all;
  /// empty: it costs nothing.
  std::function<double(std::int64_t sequences, std::int64_t rows)>
      draft_seconds;
  /// A burst must promise so much more than classic, as a share.
  double least_gain = 0.01;
  /// What drafting only to find out may cost, as a share of all time.
  double explore_share = 0.01;
};

/// A sequence that a step may give one row or a block.
struct width_request {
  sequence_id id = 0;
  /// The widest block that is possible now (round_width); 1: classic.
  int most = 1;
  /// What a drafter that costs nothing has proposed already: how many drafts,
  /// and how good they look. Nothing: it is drafted after the choice.
  std::optional<int> drafted;
  int evidence = 0;
};

struct width_choice {
  /// Rows of the block to verify; 1: classic.
  int width = 1;
  /// Rows to draft for, >= width; more where the rest is judged by the text
  /// that comes (exploration), 1: no drafting.
  int draft_width = 1;
  width_source source = width_source::none;
  /// Tokens that the block is expected to emit.
  double tokens = 1.0;
};

/// Decides, for every round, how many rows each sequence gets: those with which
/// the whole step's expected tokens per second are the most, classic included.
///
/// Expected tokens of width w are 1 + sum over k < w of the product of the
/// first k acceptance rates (Leviathan, Kalman, Matias, "Fast inference from
/// transformers via speculative decoding", ICML 2023, for rates that differ by
/// position). Rows go one jump after another to the sequence that gains most
/// from a row, and the best of all those steps is taken.
///
/// A plain value: no clock, no randomness; the same calls give the same
/// choices.
class width_controller {
 public:
  /// Throws std::invalid_argument without step_seconds.
  explicit width_controller(controller_options options);

  /// One choice a request, in their order; `vouched` are the legal widths.
  std::vector<width_choice> choose(std::span<const width_request> requests,
                                   const width_set& vouched,
                                   const step_load& load = {});

  /// What came of a round, or of a classic step: the proposal for it (empty:
  /// none), all of it, verified or not, and the tokens emitted.
  void observe(sequence_id id, const draft& proposal,
               std::span<const token_id> emitted);

  /// The sequence has ended.
  void forget(sequence_id id) { sequences_.erase(id); }

  /// The expected rate of a sequence's draft at an index of its block.
  double acceptance(sequence_id id, int evidence, int index) const;

 private:
  struct sequence_state {
    acceptance_counts counts;
    draft_judge judge;
    /// When it was explored last, in calls of choose().
    std::uint64_t explored = 0;
    /// When a draft of it was judged last, in calls of choose().
    std::uint64_t seen = 0;
  };

  struct jump;
  std::vector<double> rates(sequence_id id, int evidence, int drafts) const;
  width_source source_of(const width_request& request) const;
  void add_jumps(std::size_t index, const width_request& request, int most,
                 const width_set& vouched, std::vector<jump>& jumps) const;
  double draft_cost(std::int64_t sequences, std::int64_t rows) const;
  void explore(std::span<const width_request> requests, double seconds,
               std::vector<width_choice>& choices);

  controller_options options_;
  acceptance_counts overall_;
  std::unordered_map<sequence_id, sequence_state> sequences_;
  std::uint64_t calls_ = 0;
  /// Seconds that exploration may still spend.
  double credit_ = 0.0;
};

}  // namespace vouch::engine
