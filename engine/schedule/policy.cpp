#include "engine/schedule/policy.hpp"

#include <algorithm>
#include <limits>

#include "engine/config/toml_reader.hpp"

namespace vouch::engine {
namespace {

constexpr std::int32_t many = 1'000'000;
constexpr double year = 366.0 * 86400.0;

void read_limits(toml_reader& file, policy& rules) {
  auto& limits = rules.limits;
  file.integer("limits.max_running", limits.max_running, 1, many);
  file.integer("limits.step_tokens", limits.step_tokens, 1, many);
  file.integer("limits.max_queued_requests", limits.max_queued_requests, 1,
               many);
  file.integer("limits.max_queued_prompt_tokens",
               limits.max_queued_prompt_tokens, 1,
               std::numeric_limits<std::int64_t>::max() / 2);
  file.number("limits.queue_timeout", limits.queue_timeout, 0.0, year);
  file.number("limits.request_timeout", limits.request_timeout, 0.0, year);
}

void read_order(toml_reader& file, policy& rules) {
  file.one_of("order.by", rules.order.by,
              {{"fcfs", order_by::fcfs},
               {"priority", order_by::priority},
               {"shortest_prompt", order_by::shortest_prompt},
               {"fair", order_by::fair}});
  file.one_of("order.priority_order", rules.order.low_priority_value_first,
              {{"low_first", true}, {"high_first", false}});
  file.integer("order.ageing", rules.order.ageing, 1,
               std::numeric_limits<std::int32_t>::max());
}

void read_prefill(toml_reader& file, policy& rules) {
  auto& prefill = rules.prefill;
  file.integer("prefill.chunk_tokens", prefill.chunk_tokens, 1, many);
  file.integer("prefill.decode_steps_between_chunks",
               prefill.decode_steps_between_chunks, 0, 1000);
  file.integer("prefill.max_parallel", prefill.max_parallel, 1, many);
  file.integer("prefill.long_prompt_tokens", prefill.long_prompt_tokens, 1,
               std::numeric_limits<std::int32_t>::max());
}

void read_memory(toml_reader& file, policy& rules) {
  file.one_of("cache.reserve", rules.cache.reserve_full,
              {{"prompt", false}, {"full", true}});
  file.number("cache.watermark", rules.cache.watermark, 0.0, 0.5);
  file.boolean("cache.prefix_cache", rules.cache.prefix_cache);
  int only = 0;
  file.one_of("cache.eviction", only, {{"lru", 0}});
  file.one_of(
      "preempt.mode", rules.preempt.mode,
      {{"recompute", preempt_mode::recompute}, {"off", preempt_mode::off}});
  file.one_of("preempt.victim", rules.preempt.victim,
              {{"newest", preempt_victim::newest},
               {"lowest_priority", preempt_victim::lowest_priority},
               {"largest", preempt_victim::largest}});
}

/// `key`'s value must not be above `limit_key`'s. A value the file does not
/// name follows the other silently: a default is never the user's mistake.
void check_at_most(const toml_reader& file, const char* key,
                   std::int32_t& value, const char* limit_key,
                   std::int32_t limit) {
  if (value <= limit) return;
  if (!file.has(key)) {
    value = limit;
    return;
  }
  file.fail(key, std::to_string(value) + " is more than " + limit_key + " (" +
                     std::to_string(limit) +
                     (file.has(limit_key) ? ")" : ", its default)"));
}

policy read(toml_reader file, std::map<std::string, std::string>* origins) {
  policy rules;
  read_limits(file, rules);
  read_order(file, rules);
  read_prefill(file, rules);
  read_memory(file, rules);
  file.refuse("speculation", "not built yet");
  file.refuse("slo", "not built yet");
  file.finish();

  auto& limits = rules.limits;
  // A sequence that prefills must find a row beside all that decode.
  check_at_most(file, "limits.max_running", limits.max_running,
                "limits.step_tokens", limits.step_tokens);
  check_at_most(file, "prefill.chunk_tokens", rules.prefill.chunk_tokens,
                "limits.step_tokens", limits.step_tokens);
  check_at_most(file, "prefill.max_parallel", rules.prefill.max_parallel,
                "limits.max_running", limits.max_running);
  if (limits.request_timeout > 0.0 &&
      limits.queue_timeout > limits.request_timeout) {
    file.fail("limits.queue_timeout", "is longer than limits.request_timeout");
  }
  if (rules.preempt.mode == preempt_mode::off) {
    if (file.has("cache.reserve") && !rules.cache.reserve_full) {
      file.fail("cache.reserve",
                "must be \"full\" where preempt.mode is \"off\": memory that "
                "was not reserved could run out");
    }
    rules.cache.reserve_full = true;
  }
  if (origins != nullptr) *origins = file.origins();
  return rules;
}

}  // namespace

policy load_policy(const std::filesystem::path& file,
                   std::map<std::string, std::string>* origins) {
  return read(toml_reader::from_file(file), origins);
}

policy parse_policy(std::string_view toml, const std::string& name,
                    std::map<std::string, std::string>* origins) {
  return read(toml_reader::from_text(toml, name), origins);
}

}  // namespace vouch::engine
