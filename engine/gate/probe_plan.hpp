#pragma once

#include <cstdint>
#include <random>
#include <vector>

#include "engine/gate/probe_options.hpp"
#include "engine/gate/scenario.hpp"
#include "engine/gate/unit.hpp"

namespace vouch::engine {

/// What a task can vouch for: a width, or one of these.
inline constexpr int key_alone = 0;
inline constexpr int key_batch = 1;

/// One scenario, and what it says something about.
struct probe_task {
  std::vector<int> covers;
  /// It is the classic arm: its sequences make their texts.
  bool builds = false;
  scenario played;
};

/// What is done with one loan, and vouches for rows below `positions`.
struct probe_stage {
  std::int64_t positions = 0;
  gate_need need;
  std::vector<probe_task> tasks;
};

/// The texts, of which only the prompts are there, and the stages: the first
/// exercises everything, each later one goes on at twice as high positions.
struct probe_plan {
  std::vector<probe_text> texts;
  /// Tokens that each text is to have after its prompt.
  std::vector<std::int64_t> generated;
  std::vector<probe_stage> stages;
};

probe_plan plan_probe(const probe_options& options);

/// Sampling of the texts, in turn: greedy, and sampled with penalties, bias,
/// a forbidden end, filters.
sampling_params probe_sampling(std::size_t kind, token_id vocabulary,
                               std::uint64_t seed);

/// A random scenario over the first stage's texts: 1 to 32 sequences, any of
/// the widths and patterns, cuts, cached or cold, short of memory or not.
probe_task draw_task(std::mt19937_64& random, const probe_options& options,
                     const probe_plan& plan);

/// What a scenario holds at once, at most `room` blocks of it.
gate_need need_of(const scenario& played, const probe_plan& plan,
                  const executor_limits& served);

}  // namespace vouch::engine
