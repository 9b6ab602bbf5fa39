#pragma once

#include <cstddef>
#include <cstdint>

#include "engine/gate/probe_plan.hpp"

namespace vouch::engine {

/// Indexes of the first stage's texts.
struct first_stage_texts {
  /// Synthetic, up to the stage's highest position.
  std::size_t longest = 0;
  /// Real prompts of their own length, half a walk each.
  std::size_t greedy = 0;
  std::size_t penalties = 0;
  /// A real one that ends two rows before an attention split.
  std::size_t split = 0;
  /// A prompt of one token.
  std::size_t one = 0;
};

/// The scenarios of the first stage.
class scenario_maker {
 public:
  scenario_maker(const probe_options& options, const probe_plan& plan,
                 const first_stage_texts& texts)
      : o_{options}, plan_{plan}, t_{texts} {}

  /// Row after row, cut elsewhere, from the prefix cache: against the served
  /// prefill.
  void add_alone(probe_stage& stage) const;
  /// Together, preempted, many.
  void add_batch(probe_stage& stage) const;
  /// Bursts of one width: alone, beside other bursts and classic rows, beside a
  /// prefill, many and preempted, with the drafter that serves.
  void add_width(probe_stage& stage, int width) const;

 private:
  scenario named(const char* name, int width) const;
  scenario_sequence sequence(std::size_t text, draft_pattern pattern, int width,
                             std::int64_t tokens = 0,
                             std::int64_t delay = 0) const;
  /// So few blocks that not all of the sequences can stay.
  void make_tight(scenario& played) const;
  void add(probe_stage& stage, int key, scenario played) const;

  const probe_options& o_;
  const probe_plan& plan_;
  first_stage_texts t_;
};

/// One long text of a later stage: cut elsewhere and cached, then beside a
/// classic row, then with every width from the cache.
void add_higher_positions(const probe_options& options, const probe_plan& plan,
                          std::size_t text, probe_stage& stage);

}  // namespace vouch::engine
