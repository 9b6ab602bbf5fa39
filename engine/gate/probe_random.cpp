// Random scenarios, for counting rows over everything that may be mixed.
#include <algorithm>

#include "engine/cache/block_pool.hpp"
#include "engine/gate/probe_plan.hpp"

namespace vouch::engine {

probe_task draw_task(std::mt19937_64& random, const probe_options& options,
                     const probe_plan& plan) {
  const auto below = [&random](std::int64_t n) {
    return static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(n));
  };
  const auto one_in = [&](std::int64_t n) { return below(n) == 0; };
  constexpr draft_pattern patterns[] = {
      draft_pattern::classic,     draft_pattern::all,   draft_pattern::none,
      draft_pattern::alternating, draft_pattern::mixed, draft_pattern::random,
      draft_pattern::lookup,      draft_pattern::live};
  // Texts of the first stage: those before a later stage's.
  std::vector<std::size_t> texts;
  for (std::size_t i = 0; i < plan.texts.size(); ++i) {
    if (!plan.texts[i].logits.empty()) texts.push_back(i);
  }
  probe_task task;
  task.covers = {key_batch};
  scenario& played = task.played;
  played.name = "drawn";
  played.seed = random();
  played.permute = one_in(2);
  played.prefix_cache = !one_in(3);
  if (one_in(2)) {
    played.chunk = 1 + below(options.setup.rules.prefill.chunk_tokens);
  }
  for (const int width : options.widths) played.widths.insert(width);
  const auto slots = std::min<std::int64_t>(32, options.setup.limits.slots);
  const auto n =
      1 + below(one_in(3) ? slots : std::min<std::int64_t>(8, slots));
  const auto kinds = options.widths.empty()     ? 1
                     : options.setup.has_live() ? 8
                                                : 7;
  // Now and then all at once, so that steps have as many items.
  const bool together = one_in(3);
  for (std::int64_t i = 0; i < n; ++i) {
    scenario_sequence each;
    each.text = texts[static_cast<std::size_t>(
        below(static_cast<std::int64_t>(texts.size())))];
    const auto most = std::max<std::int64_t>(1, plan.generated[each.text] - 1);
    each.tokens = 1 + below(std::min<std::int64_t>(most, 96));
    each.pattern = patterns[below(kinds)];
    if (each.pattern != draft_pattern::classic) {
      each.width = options.widths[static_cast<std::size_t>(
          below(static_cast<std::int64_t>(options.widths.size())))];
      if (std::find(task.covers.begin(), task.covers.end(), each.width) ==
          task.covers.end()) {
        task.covers.push_back(each.width);
      }
    }
    each.delay = together ? 0 : below(16);
    each.stops = one_in(6);
    each.prompt_logits = one_in(10) && plan.texts[each.text].first_logits == 0;
    played.sequences.push_back(each);
  }
  if (one_in(4)) {
    const auto all = need_of(played, plan, options.setup.limits).blocks;
    std::int64_t largest = 0;
    for (const auto& each : played.sequences) {
      largest = std::max(
          largest, blocks_for(plan.texts[each.text].prompt + each.tokens));
    }
    played.blocks = std::max(largest + 1, all / 2);
  }
  return task;
}

}  // namespace vouch::engine
