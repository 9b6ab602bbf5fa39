#include "engine/gate/probe_scenarios.hpp"

#include <algorithm>
#include <utility>

#include "engine/cache/block_pool.hpp"

namespace vouch::engine {
namespace {

/// Sequences of one step. More than a few only where others keep as many slots:
/// a loan waits until so many are free.
std::int64_t most_sequences(const executor_limits& served) {
  const std::int64_t slots = served.slots;
  return std::min(slots, std::clamp<std::int64_t>(slots / 2, 16, 32));
}

std::int64_t served_chunk(const probe_options& o) {
  return std::min<std::int64_t>(
      o.setup.rules.prefill.chunk_tokens,
      std::min<std::int64_t>(o.setup.rules.limits.step_tokens,
                             o.setup.limits.step_rows));
}

/// Another cut than the served one, on no border of anything.
std::int64_t odd_chunk(const probe_options& o) {
  return std::max<std::int64_t>(1, served_chunk(o) / 7) | 1;
}

/// What a text has, but one: so that the row behind its last token can be
/// compared too.
std::int64_t most_tokens(const probe_plan& plan, std::size_t text) {
  return std::max<std::int64_t>(1, plan.generated[text] - 1);
}

}  // namespace

scenario scenario_maker::named(const char* name, int width) const {
  scenario played;
  played.name = name;
  played.widths = width_set::up_to(width);
  played.seed = o_.seed + static_cast<std::uint64_t>(width);
  return played;
}

scenario_sequence scenario_maker::sequence(std::size_t text,
                                           draft_pattern pattern, int width,
                                           std::int64_t tokens,
                                           std::int64_t delay) const {
  const auto most = most_tokens(plan_, text);
  scenario_sequence made;
  made.text = text;
  made.tokens = tokens > 0 ? std::min(tokens, most) : most;
  made.pattern = pattern;
  made.width = pattern == draft_pattern::classic ? 1 : width;
  made.delay = delay;
  return made;
}

void scenario_maker::make_tight(scenario& played) const {
  std::int64_t all = 0;
  std::int64_t largest = 0;
  for (const auto& each : played.sequences) {
    const auto one = blocks_for(plan_.texts[each.text].prompt + each.tokens);
    all += one;
    largest = std::max(largest, one);
  }
  played.least_blocks = largest + 1;
  played.blocks = std::max(largest + 1, all / 2);
  played.wants_preemption = played.blocks < all;
}

void scenario_maker::add(probe_stage& stage, int key, scenario played) const {
  stage.tasks.push_back({{key}, false, std::move(played)});
}

void scenario_maker::add_alone(probe_stage& stage) const {
  constexpr auto classic = draft_pattern::classic;
  auto rows = named("one row after the other", 1);
  rows.chunk = 1;
  rows.prefix_cache = false;
  rows.sequences = {sequence(t_.greedy, classic, 1, 17)};
  add(stage, key_alone, std::move(rows));

  auto cut = named("prompt cut elsewhere", 1);
  cut.chunk = odd_chunk(o_);
  cut.sequences = {sequence(t_.longest, classic, 1, 9),
                   sequence(t_.longest, classic, 1, 33)};
  cut.sequences[1].after = 0;
  cut.wants_cache_hit = plan_.texts[t_.longest].prompt > block_tokens;
  cut.name = "prompt cut elsewhere, then from the cache";
  add(stage, key_alone, std::move(cut));
}

void scenario_maker::add_batch(probe_stage& stage) const {
  constexpr auto classic = draft_pattern::classic;
  auto together = named("together", 1);
  together.sequences = {sequence(t_.longest, classic, 1),
                        sequence(t_.greedy, classic, 1, 0, 1),
                        sequence(t_.penalties, classic, 1, 0, 2),
                        sequence(t_.split, classic, 1, 0, 3),
                        sequence(t_.one, classic, 1, 0, 5),
                        sequence(t_.greedy, classic, 1, 48, 13)};
  together.sequences.back().prompt_logits = true;
  add(stage, key_batch, std::move(together));

  auto tight = named("preempted", 1);
  tight.sequences = {sequence(t_.greedy, classic, 1, 64),
                     sequence(t_.penalties, classic, 1, 64),
                     sequence(t_.one, classic, 1, 64)};
  make_tight(tight);
  add(stage, key_batch, std::move(tight));

  auto many = named("many, permuted, beside a prefill", 1);
  many.permute = true;
  many.chunk = std::max<std::int64_t>(1, served_chunk(o_) / 2);
  const auto n = most_sequences(o_.setup.limits);
  const std::size_t turn[] = {t_.greedy, t_.penalties, t_.one};
  for (std::int64_t i = 0; i + 1 < n; ++i) {
    many.sequences.push_back(sequence(turn[static_cast<std::size_t>(i) % 3],
                                      classic, 1, 24,
                                      std::min<std::int64_t>(i / 3, 5)));
  }
  many.sequences.push_back(sequence(t_.longest, classic, 1, 2, 6));
  add(stage, key_batch, std::move(many));
}

void scenario_maker::add_width(probe_stage& stage, int width) const {
  using pattern = draft_pattern;
  const int w = width;
  auto alone = named("alone", w);
  alone.sequences = {sequence(t_.longest, pattern::all, w)};
  add(stage, w, std::move(alone));

  auto beside = named("beside bursts and classic rows, permuted", w);
  beside.permute = true;
  beside.sequences = {sequence(t_.greedy, pattern::alternating, w, 96),
                      sequence(t_.penalties, pattern::mixed, w, 96),
                      sequence(t_.one, pattern::classic, 1, 0, 2),
                      sequence(t_.greedy, pattern::none, w, 16, 6)};
  beside.wants_cache_hit = plan_.texts[t_.greedy].prompt > block_tokens;
  add(stage, w, std::move(beside));

  auto prefill = named("at a split, beside a prefill", w);
  prefill.chunk = std::max<std::int64_t>(1, served_chunk(o_) / 4);
  prefill.sequences = {sequence(t_.split, pattern::none, w, 16),
                       sequence(t_.penalties, pattern::all, w, 40, 2),
                       sequence(t_.longest, pattern::classic, 1, 2, 5),
                       sequence(t_.split, pattern::mixed, w, 0, 9),
                       sequence(t_.split, pattern::all, w, 0, 10)};
  prefill.sequences[1].stops = true;
  add(stage, w, std::move(prefill));

  auto many = named("many rows, preempted", w);
  many.permute = true;
  const auto n = std::clamp<std::int64_t>(
      o_.setup.limits.step_rows / w, 2,
      std::min<std::int64_t>(8, o_.setup.limits.slots));
  const std::size_t turn[] = {t_.greedy, t_.penalties, t_.one};
  constexpr pattern kinds[] = {pattern::all,    pattern::mixed,
                               pattern::none,   pattern::alternating,
                               pattern::lookup, pattern::random};
  for (std::int64_t i = 0; i < n; ++i) {
    const auto kind = kinds[i % 6];
    const bool slow = kind == pattern::none || kind == pattern::random;
    many.sequences.push_back(
        sequence(turn[static_cast<std::size_t>(i) % 3], kind, w,
                 slow ? 10 : std::max<std::int64_t>(24, 2 * std::int64_t{w})));
  }
  make_tight(many);
  add(stage, w, std::move(many));

  if (o_.setup.has_live()) {
    auto live = named("with the drafter that serves", w);
    live.sequences = {sequence(t_.greedy, pattern::live, w, 64),
                      sequence(t_.penalties, pattern::live, w, 64)};
    add(stage, w, std::move(live));
  }
}

void add_higher_positions(const probe_options& options, const probe_plan& plan,
                          std::size_t text, probe_stage& stage) {
  const auto most = most_tokens(plan, text);
  scenario cut;
  cut.name = "prompt cut elsewhere, then from the cache";
  cut.chunk = odd_chunk(options);
  cut.sequences = {{text, 2}, {text, most}};
  cut.sequences[1].after = 0;
  cut.wants_cache_hit = plan.texts[text].prompt > block_tokens;
  stage.tasks.push_back({{key_alone}, false, std::move(cut)});

  scenario all;
  all.name = "beside a classic row, then every width from the cache";
  probe_task task;
  task.covers = {key_batch};
  all.sequences = {{text, most}, {1, std::min(most, most_tokens(plan, 1))}};
  int before = 0;
  for (const int width : options.widths) {
    all.widths.insert(width);
    scenario_sequence burst{text, most, draft_pattern::mixed, width};
    burst.after = before;
    before = static_cast<int>(all.sequences.size());
    all.sequences.push_back(burst);
    task.covers.push_back(width);
  }
  task.played = std::move(all);
  stage.tasks.push_back(std::move(task));
}

}  // namespace vouch::engine
