// A step's rows: decode first, then prefill chunks.
#include <algorithm>
#include <utility>

#include "engine/schedule/state.hpp"

namespace vouch::engine {
namespace {

/// Candidates that may be passed over before long prompts are left out at a
/// glance; bounds the work of one plan.
constexpr std::size_t max_skipped = 16;

}  // namespace

std::int64_t scheduler::impl::row_budget() const {
  return std::min<std::int64_t>(rules.limits.step_tokens, limits.step_rows);
}

std::optional<scheduler::planned_step> scheduler::impl::plan() {
  if (flights.size() >= max_in_flight) return std::nullopt;
  plan_draft d;
  d.work.id = last_planned + 1;
  d.expected.id = d.work.id;
  if (bursts.batched) {
    plan_decode(d);
    plan_prefill(d);
  } else {
    plan_alone(d);
  }
  for (sequence* s : running) s->offered.clear();
  if (d.work.items.empty()) return std::nullopt;
  draw_audits(d);

  last_planned = d.work.id;
  ++counters.steps;
  if (d.decode_rows + d.verify_rows > 0) ++counters.decode_steps;
  counters.decode_rows += static_cast<std::uint64_t>(d.decode_rows);
  counters.verify_rows += static_cast<std::uint64_t>(d.verify_rows);
  const std::int64_t prefill = d.rows - d.decode_rows - d.verify_rows;
  counters.prefill_rows += static_cast<std::uint64_t>(prefill);
  steps_without_prefill = prefill > 0 ? 0 : steps_without_prefill + 1;
  std::vector<sequence_id> sequences;
  for (const auto& item : d.expected.items) sequences.push_back(item.id);
  flights.push_back(std::move(d.expected));
  return planned_step{std::exchange(released, {}), std::exchange(opened, {}),
                      std::exchange(histories, {}), std::move(d.work),
                      std::move(sequences)};
}

/// A row whose input is a pick still in flight: only where the step before
/// brings that pick, and where nothing but the token itself is needed from it.
bool scheduler::impl::may_look_ahead(const sequence& s, step_id id) const {
  const sampling_params& p = s.sampling;
  const std::int64_t will_have = s.generated() + s.outstanding;
  const bool masked_by_history =
      p.presence_penalty != 0.0F || p.frequency_penalty != 0.0F ||
      p.repetition_penalty != 1.0F || will_have < p.min_tokens;
  // One that may get a verify block waits for its anchor.
  const bool bursts_next = s.speculate && !bursts.widths.empty();
  return s.last_step + 1 == id && !masked_by_history && !bursts_next &&
         s.verifying == 0 && will_have < s.max_tokens;
}

void scheduler::impl::plan_decode(plan_draft& d) {
  std::vector<sequence*> ready;
  for (sequence* s : running) {
    if (s->prefilling()) continue;
    if (s->outstanding == 0 || may_look_ahead(*s, d.work.id)) {
      ready.push_back(s);
    }
  }
  // Where the budget does not hold all of them, they take turns.
  std::sort(ready.begin(), ready.end(),
            [](const sequence* a, const sequence* b) {
              return std::pair{a->last_step, a->arrival} <
                     std::pair{b->last_step, b->arrival};
            });
  const auto most = static_cast<std::size_t>(bursts.batched ? row_budget() : 1);
  // Memory first: whoever is preempted must not have a row in this step.
  std::vector<sequence*> planned;
  for (sequence* s : ready) {
    if (planned.size() == most) break;
    if (!s->running) continue;
    if (s->held() < blocks_for(s->scheduled + 1)) {
      // A row planned ahead is no reason to send somebody away.
      const bool room = s->outstanding > 0 ? can_take(*s) : make_room(*s);
      if (!room) continue;
      s->blocks.push_back(take_block());
    }
    planned.push_back(s);
  }
  std::erase_if(planned, [](const sequence* s) { return !s->running; });
  // Everybody's own row first; verify rows take what is left.
  auto left = row_budget() - static_cast<std::int64_t>(planned.size());
  for (sequence* s : planned) {
    if (s->offered.empty()) {
      add_decode(d, *s);
      continue;
    }
    auto input = block_input(*s, left + 1);
    left -= static_cast<std::int64_t>(input.size()) - 1;
    if (input.size() < 2) {
      add_decode(d, *s);
    } else {
      add_verify(d, *s, std::move(input));
    }
  }
}

/// One sequence a step: decoding and prefill take turns.
void scheduler::impl::plan_alone(plan_draft& d) {
  if (steps_without_prefill > 0) plan_prefill(d);
  if (d.work.items.empty()) plan_decode(d);
  if (d.work.items.empty()) plan_prefill(d);
}

void scheduler::impl::add_decode(plan_draft& d, sequence& s) {
  step_item item;
  item.slot = s.slot;
  item.kind = row_kind::decode;
  item.position = static_cast<std::int32_t>(s.scheduled);
  item.input_is_last_pick = s.outstanding > 0;
  item.tokens = {item.input_is_last_pick ? -1 : s.tokens.back()};
  item.blocks = s.blocks;
  d.work.items.push_back(std::move(item));
  ++s.scheduled;
  ++s.outstanding;
  s.last_step = d.work.id;
  d.expected.items.push_back({s.id,
                              s.epoch,
                              s.slot,
                              row_kind::decode,
                              1,
                              s.scheduled,
                              1,
                              0,
                              {},
                              false});
  ++d.rows;
  ++d.decode_rows;
}

void scheduler::impl::add_prefill(plan_draft& d, sequence& s,
                                  std::int64_t rows) {
  if (s.skip_from >= 0) rows = leave_out(s, rows);
  const std::int64_t begin = s.scheduled;
  const std::int64_t end = begin + rows;
  const bool last = end == s.size();
  step_item item;
  item.slot = s.slot;
  item.kind = row_kind::prefill;
  item.position = static_cast<std::int32_t>(begin);
  item.tokens.assign(s.tokens.begin() + begin, s.tokens.begin() + end);
  item.blocks.assign(s.blocks.begin(), s.blocks.begin() + blocks_for(end));
  item.pick_begin = static_cast<std::int32_t>(last ? rows - 1 : rows);
  item.logits_begin = item.pick_begin;
  std::int64_t scores = 0;
  if (s.prompt_logprobs && !s.prompt_done) {
    item.logits_begin = 0;
    scores = item.pick_begin;
    if (!last) item.next_token = s.tokens[static_cast<std::size_t>(end)];
  }
  d.work.items.push_back(std::move(item));
  if (s.copy.from >= 0) {
    d.work.copies.push_back(s.copy);
    // The source stays until the copy has been made.
    graves.push_back({d.work.id, {s.copy.from}, -1});
    s.copy = {};
  }
  s.scheduled = end;
  s.outstanding += last ? 1 : 0;
  s.last_step = d.work.id;
  d.expected.items.push_back({s.id,
                              s.epoch,
                              s.slot,
                              row_kind::prefill,
                              rows,
                              end,
                              last ? 1 : 0,
                              scores,
                              {},
                              false});
  d.rows += rows;
}

void scheduler::impl::plan_prefill(plan_draft& d) {
  const std::int64_t budget = row_budget() - d.rows;
  if (budget <= 0) return;
  // Whoever decodes but waits for memory does not hold prefill up.
  const bool decoding =
      d.rows > 0 ||
      (!flights.empty() &&
       std::any_of(running.begin(), running.end(),
                   [](const sequence* s) { return !s->prefilling(); }));
  if (decoding &&
      steps_without_prefill < rules.prefill.decode_steps_between_chunks) {
    return;
  }
  std::vector<sequence*> shorts;
  sequence* huge = nullptr;
  for (sequence* s : running) {
    if (!s->prefilling()) continue;
    if (!is_long(s->prefill_end - s->scheduled)) {
      shorts.push_back(s);
    } else if (huge == nullptr) {
      huge = s;
    }
  }
  const std::int64_t chunk = rules.prefill.chunk_tokens;
  std::int64_t rows = budget;
  std::int64_t places = bursts.batched ? rules.prefill.max_parallel : 1;
  // One row or one place cannot be shared, so the two kinds take turns.
  const bool narrow = std::min(rows, places) == 1;
  // What the shorter ones leave to the huge one, and the reverse.
  const auto kept = [&]() -> std::int64_t {
    if (huge == nullptr) return 0;
    if (narrow) return last_prefill_was_long ? 0 : rows;
    return std::min({chunk, huge->prefill_end - huge->scheduled,
                     std::max<std::int64_t>(1, budget / 2)});
  };
  const auto open = [&] {
    return rows > kept() && places > (kept() > 0 ? 1 : 0);
  };
  const auto give = [&](sequence& s, std::int64_t at_most) {
    const auto n = std::min({chunk, s.prefill_end - s.scheduled, at_most});
    add_prefill(d, s, n);
    rows -= n;
    --places;
    last_prefill_was_long = &s == huge;
  };
  for (sequence* s : shorts) {
    if (!open()) break;
    give(*s, rows - kept());
  }
  std::vector<const sequence*> skipped;
  while (open()) {
    const bool short_only = skipped.size() >= max_skipped;
    sequence* s = next_candidate(skipped, short_only);
    if (s == nullptr) break;
    const auto answer = try_admit(*s, huge == nullptr);
    if (answer == admittance::admitted) {
      if (is_long(s->prefill_end - s->scheduled)) {
        huge = s;
      } else {
        give(*s, rows - kept());
      }
    } else if (answer == admittance::too_long ||
               (is_long(s->size()) && !aged(*s) && !s->preempted &&
                static_cast<std::int64_t>(running.size()) <
                    rules.limits.max_running)) {
      // A huge prompt that has no room yet keeps nobody out until it has aged.
      skipped.push_back(s);
    } else {
      break;
    }
  }
  if (huge != nullptr && rows > 0 && places > 0) give(*huge, rows);
}

}  // namespace vouch::engine
