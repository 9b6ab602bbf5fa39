#include "cli/bench/plan.hpp"

#include <algorithm>
#include <string>

#include "engine/error.hpp"
#include "kernels/kv_layout.hpp"

namespace vouch::cli::bench {

namespace {

std::vector<std::int32_t> sorted(std::vector<std::int32_t> values) {
  std::sort(values.begin(), values.end());
  values.erase(std::unique(values.begin(), values.end()), values.end());
  return values;
}

std::int32_t blocks_for(std::int32_t positions) {
  return (positions + kernels::kv_block_tokens - 1) / kernels::kv_block_tokens;
}

std::int32_t last_of(const std::vector<std::int32_t>& values) {
  return values.empty() ? 0 : values.back();
}

[[noreturn]] void refuse(const std::string& option, const std::string& what,
                         std::int32_t context) {
  throw engine::input_error(option, what + " in a model with " +
                                        std::to_string(context) +
                                        " tokens of context");
}

void fit_contexts(const options& chosen, std::int32_t limit, plan& into) {
  for (const auto context : sorted(chosen.contexts)) {
    if (context <= limit && context >= into.tokens) {
      into.contexts.push_back(context);
    } else if (chosen.contexts_given && context > limit) {
      refuse("--contexts", std::to_string(context) + " tokens", limit);
    } else if (chosen.contexts_given) {
      throw engine::input_error(
          "--contexts",
          std::to_string(context) +
              " tokens are fewer than the steps that end there (" +
              std::to_string(into.tokens) + ", --tokens)");
    }
  }
}

}  // namespace

std::int32_t plan::sequences() const {
  return std::max({last_of(batches), last_of(sampled), widths.empty() ? 0 : 1});
}

std::int32_t plan::sequence_capacity() const {
  return depth + std::max(tokens, last_of(widths));
}

engine::cpu_executor_options plan::room() const {
  engine::cpu_executor_options room;
  // Those that sample share the blocks of those that do not.
  room.slots = sequences() + last_of(sampled) + 2;
  room.blocks =
      std::max(1, sequences() * blocks_for(sequence_capacity()) +
                      blocks_for(prompt) + blocks_for(last_of(contexts)));
  room.step_rows = std::max({chunk, sequences(), last_of(widths)});
  return room;
}

plan make_plan(const options& chosen, const engine::model_config& config) {
  const std::int32_t limit = config.max_position;
  plan made;
  made.tokens = chosen.tokens;
  made.depth = chosen.depth;
  made.chunk = chosen.chunk;
  if (chosen.wants(part::decode) || chosen.wants(part::parts) ||
      chosen.wants(part::plans)) {
    made.batches = sorted(chosen.batches);
  }
  if (chosen.wants(part::verify) || chosen.wants(part::parts)) {
    made.widths = sorted(chosen.widths);
  }
  if (chosen.wants(part::sampled)) made.sampled = sorted(chosen.sampled);
  if (chosen.wants(part::contexts)) fit_contexts(chosen, limit, made);
  if (chosen.wants(part::prefill) || chosen.wants(part::parts)) {
    made.prompt =
        chosen.prompt_given ? chosen.prompt : std::min(chosen.prompt, limit);
  }
  if (made.prompt > limit) {
    refuse("--prompt", std::to_string(made.prompt) + " tokens", limit);
  }
  if (made.sequences() > 0 && made.sequence_capacity() > limit) {
    const auto steps = made.sequence_capacity() - made.depth;
    if (steps > limit) {
      refuse(steps > made.tokens ? "--widths" : "--tokens",
             std::to_string(steps) + " rows", limit);
    }
    if (chosen.depth_given) {
      refuse("--depth",
             std::to_string(made.depth) + " tokens and " +
                 std::to_string(steps) + " more",
             limit);
    }
    made.depth = limit - steps;
  }
  return made;
}

}  // namespace vouch::cli::bench
