#include "engine/schedule/scheduler.hpp"

#include <algorithm>
#include <sstream>
#include <stdexcept>
#include <utility>

#include "engine/schedule/state.hpp"

namespace vouch::engine {

namespace {

/// Where nobody may be preempted, whoever starts must be able to end.
policy in_effect(policy rules) {
  if (rules.preempt.mode == preempt_mode::off) rules.cache.reserve_full = true;
  return rules;
}

}  // namespace

scheduler::impl::impl(policy rules_in, executor_limits limits_in,
                      int steps_in_flight, token_bytes_function bytes)
    : rules{in_effect(rules_in)},
      limits{limits_in},
      max_in_flight{static_cast<std::size_t>(std::max(1, steps_in_flight))},
      token_bytes{std::move(bytes)},
      pool{limits_in.blocks},
      cache{pool} {
  for (slot_id slot = 0; slot < limits.slots; ++slot) free_slots.insert(slot);
}

scheduler::scheduler(policy rules, executor_limits limits, int steps_in_flight,
                     token_bytes_function token_bytes)
    : impl_{std::make_unique<impl>(rules, limits, steps_in_flight,
                                   std::move(token_bytes))} {}
scheduler::~scheduler() = default;
scheduler::scheduler(scheduler&&) noexcept = default;
scheduler& scheduler::operator=(scheduler&&) noexcept = default;

rejection scheduler::add(sequence_start start, std::int64_t now_ms) {
  impl& m = *impl_;
  const auto prompt = static_cast<std::int64_t>(start.prompt.size());
  const std::int64_t context = m.limits.context;
  const std::int64_t pool_rows = m.pool.size() * block_tokens;
  if (prompt == 0) return rejection::empty_prompt;
  if (prompt > context || (prompt == context && start.max_tokens != 0)) {
    return rejection::prompt_too_long;
  }
  if (prompt > pool_rows) return rejection::prompt_larger_than_pool;
  const bool follows =
      start.sibling_of != start.id && m.all.count(start.sibling_of) > 0;
  if (!follows && m.queued >= m.rules.limits.max_queued_requests) {
    return rejection::queue_full;
  }
  // A prompt above the limit still gets in when nothing else waits.
  if (!follows && m.queued > 0 &&
      m.queued_tokens + prompt > m.rules.limits.max_queued_prompt_tokens) {
    return rejection::queued_tokens_full;
  }
  auto [it, added] = m.all.try_emplace(start.id);
  if (!added) throw std::logic_error{"scheduler: the id is taken"};
  it->second = std::make_unique<sequence>();
  sequence& s = *it->second;
  s.id = start.id;
  s.arrival = ++m.arrivals;
  s.tokens = std::move(start.prompt);
  s.prompt_tokens = prompt;
  // The last token needs no row, so a full pool still leaves one.
  const std::int64_t left = std::min(context - prompt, pool_rows + 1 - prompt);
  s.max_tokens = start.max_tokens < 0 ? left : std::min(start.max_tokens, left);
  s.sampling = std::move(start.sampling);
  s.speculate = start.speculate;
  s.stop_tokens = ending_tokens(s.sampling);
  s.stops = stop_matcher{std::move(start.stop_strings)};
  s.prompt_logprobs = start.prompt_logprobs;
  s.priority = start.priority;
  s.tenant = std::move(start.tenant);
  s.follows = follows;
  s.sibling_of = follows ? start.sibling_of : 0;
  s.added_ms = now_ms;
  s.added_step = m.last_planned;
  m.shares.join(s.tenant);
  m.waiting.push_back(&s);
  m.count_queued(s, 1);
  return rejection::none;
}

bool scheduler::abort(sequence_id id) {
  const auto it = impl_->all.find(id);
  if (it == impl_->all.end()) return false;
  impl_->erase(*it->second, true);
  return true;
}

std::optional<scheduler::planned_step> scheduler::plan(std::int64_t now_ms) {
  impl_->now_ms = now_ms;
  return impl_->plan();
}

std::vector<sequence_update> scheduler::update(const step_result& result) {
  return impl_->update(result);
}

std::vector<sequence_update> scheduler::expire(std::int64_t now_ms) {
  impl& m = *impl_;
  const auto passed = [&](const sequence& s, double seconds) {
    return seconds > 0.0 &&
           static_cast<double>(now_ms - s.added_ms) >= seconds * 1000.0;
  };
  std::vector<sequence_update> updates;
  std::vector<sequence*> gone;
  for (const auto& [id, owned] : m.all) {
    sequence& s = *owned;
    const auto& limits = m.rules.limits;
    std::ostringstream why;
    if (passed(s, limits.request_timeout)) {
      why << "request_timeout of " << limits.request_timeout << " s passed";
    } else if (!s.running && !s.preempted && !s.follows &&
               passed(s, limits.queue_timeout)) {
      why << "queue_timeout of " << limits.queue_timeout << " s passed";
    } else {
      continue;
    }
    sequence_update u;
    u.id = id;
    u.finished = true;
    u.reason = finish_reason::failed;
    u.timed_out = true;
    u.error = why.str();
    u.cached_tokens = s.cached_tokens;
    updates.push_back(std::move(u));
    gone.push_back(&s);
  }
  for (sequence* s : gone) m.erase(*s, true);
  return updates;
}

void scheduler::set_policy(policy rules) {
  impl& m = *impl_;
  m.rules = in_effect(rules);
  if (m.rules.order.by != order_by::fair) m.shares.reset();
  if (!m.rules.cache.prefix_cache) m.clear_cache();
}

bool scheduler::idle() const {
  return impl_->all.empty() && impl_->flights.empty();
}

const executor_limits& scheduler::limits() const { return impl_->limits; }

scheduler_stats scheduler::stats() const {
  const impl& m = *impl_;
  scheduler_stats s = m.counters;
  s.running = static_cast<std::int64_t>(m.running.size());
  s.waiting = static_cast<std::int64_t>(m.waiting.size());
  s.queued_requests = m.queued;
  s.waiting_prompt_tokens = m.queued_tokens;
  s.free_blocks = m.pool.free();
  s.total_blocks = m.pool.size();
  s.cached_blocks = m.pool.only_cached();
  s.tenants = static_cast<std::int64_t>(m.shares.tenants());
  return s;
}

}  // namespace vouch::engine
