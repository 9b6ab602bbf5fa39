#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <string_view>

namespace vouch::engine {

enum class order_by : std::uint8_t { fcfs, priority, shortest_prompt, fair };
enum class preempt_mode : std::uint8_t { recompute, off };
enum class preempt_victim : std::uint8_t { newest, lowest_priority, largest };

/// How requests are admitted, ordered, mixed and preempted: one TOML policy
/// file. Every field is a key of the same name under its table.
struct policy {
  struct {
    /// Sequences that may hold KV blocks at once.
    std::int32_t max_running = 64;
    /// Rows a step may have.
    std::int32_t step_tokens = 512;
    std::int32_t max_queued_requests = 1024;
    std::int64_t max_queued_prompt_tokens = 1'000'000;
    /// Seconds; 0 is none.
    double queue_timeout = 0.0;
    double request_timeout = 0.0;
  } limits;
  struct {
    order_by by = order_by::fcfs;
    /// "low_first" (0 before 1, vLLM's) or "high_first".
    bool low_priority_value_first = true;
    /// Steps a request waits before it is taken ahead of the order; bounds the
    /// wait under every policy.
    std::int32_t ageing = 1000;
  } order;
  struct {
    /// Prompt rows of one sequence in one step.
    std::int32_t chunk_tokens = 256;
    /// Pure decode steps between two steps that carry prefill, while anything
    /// decodes; 0 mixes prefill into every step.
    std::int32_t decode_steps_between_chunks = 0;
    /// Sequences that prefill in one step.
    std::int32_t max_parallel = 8;
    /// Prompts longer than this share a step with at most one of their kind.
    std::int32_t long_prompt_tokens = 1024;
  } prefill;
  struct {
    /// Blocks reserved for a sequence when it starts: "prompt" or "full"
    /// (prompt and max_tokens, so that it is never preempted; implied by
    /// preempt.mode "off").
    bool reserve_full = false;
    /// Share of the pool kept free when a sequence is admitted.
    double watermark = 0.01;
    bool prefix_cache = true;
  } cache;
  struct {
    preempt_mode mode = preempt_mode::recompute;
    preempt_victim victim = preempt_victim::newest;
  } preempt;
};

/// Reads a policy file strictly: an unknown key (with a suggestion), a wrong
/// type or a value out of range throws input_error "FILE:LINE: key: ...".
/// `origins`, where given, receives "FILE:LINE" of every key the file sets.
policy load_policy(const std::filesystem::path& file,
                   std::map<std::string, std::string>* origins = nullptr);
/// The same from text; `name` is what errors call it.
policy parse_policy(std::string_view toml, const std::string& name,
                    std::map<std::string, std::string>* origins = nullptr);

}  // namespace vouch::engine
