#pragma once

#include <numeric>
#include <utility>
#include <vector>

#include "engine/executor/run_step.hpp"

namespace vouch::test {

/// Blocks first, first + 1, ...
inline std::vector<engine::block_id> block_range(engine::block_id first,
                                                 std::size_t count) {
  std::vector<engine::block_id> blocks(count);
  std::iota(blocks.begin(), blocks.end(), first);
  return blocks;
}

/// A prefill chunk that picks after its last row.
inline engine::step_item prefill(engine::slot_id slot, std::int32_t position,
                                 std::vector<engine::token_id> tokens,
                                 std::vector<engine::block_id> blocks) {
  engine::step_item item;
  item.slot = slot;
  item.kind = engine::row_kind::prefill;
  item.position = position;
  item.logits_begin = static_cast<std::int32_t>(tokens.size()) - 1;
  item.pick_begin = item.logits_begin;
  item.tokens = std::move(tokens);
  item.blocks = std::move(blocks);
  return item;
}

inline engine::step_item decode(engine::slot_id slot, std::int32_t position,
                                engine::token_id token,
                                std::vector<engine::block_id> blocks) {
  auto item = prefill(slot, position, {token}, std::move(blocks));
  item.kind = engine::row_kind::decode;
  return item;
}

/// A decode row whose input the executor knows: the pick before it.
inline engine::step_item decode_last_pick(
    engine::slot_id slot, std::int32_t position,
    std::vector<engine::block_id> blocks) {
  auto item = decode(slot, position, -1, std::move(blocks));
  item.input_is_last_pick = true;
  return item;
}

/// The anchor and its drafts, each row with a pick.
inline engine::step_item verify(engine::slot_id slot, std::int32_t position,
                                std::vector<engine::token_id> tokens,
                                std::vector<engine::block_id> blocks) {
  auto item = prefill(slot, position, std::move(tokens), std::move(blocks));
  item.kind = engine::row_kind::verify;
  item.logits_begin = 0;
  item.pick_begin = 0;
  return item;
}

inline engine::step make_step(engine::step_id id,
                              std::vector<engine::step_item> items) {
  engine::step work;
  work.id = id;
  work.items = std::move(items);
  return work;
}

}  // namespace vouch::test
