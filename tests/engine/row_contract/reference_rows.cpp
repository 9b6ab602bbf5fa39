#include "tests/engine/row_contract/reference_rows.hpp"

#include <algorithm>
#include <cstring>
#include <random>
#include <stdexcept>

#include "tests/engine/executor/step_items.hpp"

namespace vouch::test {

row_bytes bytes_of(const float* values, std::int64_t n) {
  row_bytes bytes(static_cast<std::size_t>(n) * sizeof(float));
  std::memcpy(bytes.data(), values, bytes.size());
  return bytes;
}

reference_rows run_alone(const std::shared_ptr<engine::model>& weights,
                         kernels::dtype kv_type, const token_list& tokens,
                         std::int32_t chunk, kernels::kernel_plan plan) {
  const auto length = static_cast<std::int32_t>(tokens.size());
  engine::cpu_executor_options options;
  options.threads = 1;
  options.kv_type = kv_type;
  options.blocks = length / kernels::kv_block_tokens + 1;
  options.slots = 1;
  options.step_rows = chunk;
  options.plan = plan;
  const auto device = engine::make_cpu_executor(weights, options);
  reference_rows rows;
  rows.tokens = tokens;
  device->observe_logits(
      [&](engine::slot_id, std::int32_t, const float* logits, std::int64_t n) {
        rows.logits.push_back(bytes_of(logits, n));
      });
  engine::slot_start start;
  start.slot = 0;
  start.prompt_tokens = length;
  device->open(start);
  const auto blocks = block_range(0, static_cast<std::size_t>(options.blocks));
  for (std::int32_t position = 0; position < length; position += chunk) {
    const auto end = std::min(length, position + chunk);
    auto item = prefill(
        0, position, {tokens.begin() + position, tokens.begin() + end}, blocks);
    item.logits_begin = 0;
    item.pick_begin = 0;
    const auto result = run_step(*device, make_step(1, {item}));
    if (!result.error.empty() || !result.items.at(0).error.empty()) {
      throw std::runtime_error{"reference: " + result.error};
    }
  }
  for (std::int32_t position = 0; position < length; ++position) {
    rows.kv.push_back(device->read_kv(blocks, position));
  }
  return rows;
}

std::vector<token_list> contract_sequences(std::int64_t vocab_size) {
  std::mt19937 random{20240601};
  const auto token = [&] {
    return static_cast<engine::token_id>(
        random() % static_cast<std::uint32_t>(vocab_size));
  };
  const auto extend = [&](token_list tokens, std::size_t length) {
    while (tokens.size() < length) {
      tokens.push_back(token());
    }
    return tokens;
  };
  const auto head = [](const token_list& tokens, std::size_t length) {
    return token_list{tokens.begin(),
                      tokens.begin() + static_cast<std::ptrdiff_t>(length)};
  };
  const token_list longest = extend({}, 300);
  const token_list second = extend(head(longest, 133), 270);
  return {
      longest, second,        extend(head(longest, 37), 64),  extend({}, 17),
      longest, extend({}, 1), extend(head(second, 255), 259), extend({}, 48)};
}

}  // namespace vouch::test
