#include "cli/bench/device.hpp"

#include <algorithm>
#include <chrono>
#include <stdexcept>
#include <utility>

#include "engine/executor/run_step.hpp"
#include "kernels/kv_layout.hpp"

namespace vouch::cli::bench {

namespace {

using clock_type = std::chrono::steady_clock;

double seconds_since(clock_type::time_point begin) {
  return std::chrono::duration<double>(clock_type::now() - begin).count();
}

engine::step_item item_of(const sequence& of, std::int32_t position,
                          engine::row_kind kind) {
  engine::step_item item;
  item.slot = of.slot;
  item.kind = kind;
  item.position = position;
  item.blocks = of.blocks;
  return item;
}

}  // namespace

device::device(std::shared_ptr<engine::model> weights,
               const engine::cpu_executor_options& options)
    : executor_{engine::make_cpu_executor(std::move(weights), options)} {}

engine::slot_id device::open_slot(std::size_t prompt, float temperature,
                                  float top_p) {
  engine::slot_start start;
  start.slot = slots_++;
  start.sampling.temperature = temperature;
  start.sampling.top_p = top_p;
  start.sampling.seed = static_cast<std::uint64_t>(start.slot);
  start.prompt_tokens = static_cast<std::int32_t>(prompt);
  executor_->open(start);
  return start.slot;
}

sequence device::open(std::vector<engine::token_id> tokens,
                      std::int32_t capacity) {
  sequence made;
  made.slot = open_slot(tokens.size(), 0.0F, 1.0F);
  made.tokens = std::move(tokens);
  const auto blocks =
      (capacity + kernels::kv_block_tokens - 1) / kernels::kv_block_tokens;
  for (std::int32_t i = 0; i < blocks; ++i) {
    made.blocks.push_back(blocks_++);
  }
  return made;
}

sequence device::open_twin(const sequence& twin, float temperature,
                           float top_p) {
  sequence made = twin;
  made.slot = open_slot(twin.tokens.size(), temperature, top_p);
  return made;
}

double device::prefill(sequence& of, std::int32_t count, std::int32_t chunk) {
  const auto begin = clock_type::now();
  for (std::int32_t at = 0; at < count; at += chunk) {
    const auto rows = std::min(chunk, count - at);
    auto item = item_of(of, at, engine::row_kind::prefill);
    item.tokens.assign(of.tokens.begin() + at, of.tokens.begin() + at + rows);
    item.logits_begin = item.pick_begin = at + rows == count ? rows - 1 : rows;
    std::vector<engine::step_item> items;
    items.push_back(std::move(item));
    run(std::move(items));
  }
  return seconds_since(begin);
}

void device::rewind(sequence& of, std::int32_t position) {
  executor_->set_history(of.slot,
                         {of.tokens.begin(), of.tokens.begin() + position});
  of.next = of.tokens.at(static_cast<std::size_t>(position));
}

double device::decode(std::span<sequence> batch, std::int32_t position,
                      std::int32_t steps) {
  for (auto& each : batch) {
    rewind(each, position);
  }
  const auto begin = clock_type::now();
  for (std::int32_t i = 0; i < steps; ++i) {
    std::vector<engine::step_item> items;
    items.reserve(batch.size());
    for (const auto& each : batch) {
      items.push_back(item_of(each, position + i, engine::row_kind::decode));
      items.back().tokens = {each.next};
    }
    const auto result = run(std::move(items));
    for (std::size_t s = 0; s < batch.size(); ++s) {
      batch[s].next = result.items[s].picks.back().token;
    }
  }
  return seconds_since(begin) / steps;
}

double device::verify(sequence& of, std::int32_t position, std::int32_t width,
                      std::int32_t steps) {
  rewind(of, position);
  const auto begin = clock_type::now();
  for (std::int32_t i = 0; i < steps; ++i) {
    auto item = item_of(of, position, engine::row_kind::verify);
    item.tokens.assign(of.tokens.begin() + position,
                       of.tokens.begin() + position + width);
    std::vector<engine::step_item> items;
    items.push_back(std::move(item));
    run(std::move(items));
  }
  return seconds_since(begin) / steps;
}

engine::step_result device::run(std::vector<engine::step_item> items) {
  engine::step work;
  work.id = ++steps_;
  work.items = std::move(items);
  auto result = engine::run_step(*executor_, std::move(work));
  if (!result.error.empty()) {
    throw std::runtime_error(result.error);
  }
  for (const auto& item : result.items) {
    if (!item.error.empty()) {
      throw std::runtime_error(item.error);
    }
  }
  for (std::size_t i = 0; i < profile_.seconds.size(); ++i) {
    profile_.seconds[i] += result.profile.seconds[i];
  }
  device_seconds_ += result.seconds;
  return result;
}

}  // namespace vouch::cli::bench
