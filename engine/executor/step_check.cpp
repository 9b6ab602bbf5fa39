#include "engine/executor/step_check.hpp"

#include <algorithm>
#include <vector>

#include "kernels/kv_layout.hpp"

namespace vouch::engine {

namespace {

std::string number(std::int64_t value) { return std::to_string(value); }

bool in_pool(block_id block, const executor_limits& limits) {
  return block >= 0 && block < limits.blocks;
}

std::string check_copies(const step& work, const executor_limits& limits) {
  for (const auto& copy : work.copies) {
    if (!in_pool(copy.from, limits) || !in_pool(copy.to, limits) ||
        copy.from == copy.to) {
      return "copy of block " + number(copy.from) + " to " + number(copy.to) +
             " in a pool of " + number(limits.blocks);
    }
  }
  return {};
}

std::string check_item(const step_item& item, const executor_limits& limits,
                       std::int64_t vocab_size, const slot_table& slots) {
  const slot_state* slot = slots.find(item.slot);
  if (slot == nullptr) {
    return "slot " + number(item.slot) + " is not open";
  }
  const auto rows = static_cast<std::int64_t>(item.tokens.size());
  if (rows == 0) {
    return "no rows";
  }
  if (item.position < 0 || item.position + rows > limits.context) {
    return "positions " + number(item.position) + " ... " +
           number(item.position + rows - 1) + " in a context of " +
           number(limits.context);
  }
  const std::int64_t needed =
      (item.position + rows + kernels::kv_block_tokens - 1) /
      kernels::kv_block_tokens;
  if (static_cast<std::int64_t>(item.blocks.size()) < needed) {
    return number(static_cast<std::int64_t>(item.blocks.size())) +
           " blocks where " + number(needed) + " are needed";
  }
  for (const block_id block : item.blocks) {
    if (!in_pool(block, limits)) {
      return "block " + number(block) + " in a pool of " +
             number(limits.blocks);
    }
  }
  if (static_cast<std::int64_t>(slot->history.size()) < item.position) {
    return "position " + number(item.position) + " where " +
           number(static_cast<std::int64_t>(slot->history.size())) +
           " tokens are known";
  }
  if (item.input_is_last_pick) {
    if (rows != 1) {
      return "a last pick as the input of " + number(rows) + " rows";
    }
  } else {
    for (const token_id token : item.tokens) {
      if (token < 0 || token >= vocab_size) {
        return "token " + number(token) + " in a vocabulary of " +
               number(vocab_size);
      }
    }
  }
  if (item.logits_begin < 0 || item.pick_begin < item.logits_begin ||
      item.pick_begin > rows) {
    return "logits from row " + number(item.logits_begin) +
           " and picks from row " + number(item.pick_begin) + " of " +
           number(rows);
  }
  if (item.logits_begin < rows && item.pick_begin == rows &&
      (item.next_token < 0 || item.next_token >= vocab_size)) {
    return "no token follows the last row, whose log-probability is wanted";
  }
  return {};
}

/// A block is written by one item of a step, a slot has one item.
std::string check_conflicts(const step& work) {
  std::vector<slot_id> slots;
  std::vector<block_id> written;
  for (const auto& item : work.items) {
    slots.push_back(item.slot);
    const auto first =
        static_cast<std::size_t>(item.position / kernels::kv_block_tokens);
    const auto last =
        (static_cast<std::size_t>(item.position) + item.tokens.size() - 1) /
        kernels::kv_block_tokens;
    written.insert(written.end(),
                   item.blocks.begin() + static_cast<std::ptrdiff_t>(first),
                   item.blocks.begin() + static_cast<std::ptrdiff_t>(last) + 1);
  }
  std::sort(slots.begin(), slots.end());
  if (auto twice = std::adjacent_find(slots.begin(), slots.end());
      twice != slots.end()) {
    return "slot " + number(*twice) + " has two items";
  }
  std::sort(written.begin(), written.end());
  if (auto twice = std::adjacent_find(written.begin(), written.end());
      twice != written.end()) {
    return "block " + number(*twice) + " is written twice";
  }
  return {};
}

}  // namespace

std::string check_step(const step& work, const executor_limits& limits,
                       std::int64_t vocab_size, const slot_table& slots) {
  const std::string name = "step " + std::to_string(work.id) + ": ";
  if (work.rows() > limits.step_rows) {
    return name + number(work.rows()) + " rows, the limit is " +
           number(limits.step_rows);
  }
  if (auto error = check_copies(work, limits); !error.empty()) {
    return name + error;
  }
  for (std::size_t i = 0; i < work.items.size(); ++i) {
    auto error = check_item(work.items[i], limits, vocab_size, slots);
    if (!error.empty()) {
      return name + "item " + std::to_string(i) + ": " + error;
    }
  }
  if (auto error = check_conflicts(work); !error.empty()) {
    return name + error;
  }
  return {};
}

}  // namespace vouch::engine
