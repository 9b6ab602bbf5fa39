#include "engine/gate/replay.hpp"

#include <algorithm>
#include <utility>

#include "engine/cache/block_pool.hpp"

namespace vouch::engine {
namespace {

/// Whole blocks of the prefix that are read where they stand.
std::int64_t shared_blocks(const replay_request& what) {
  return what.prefix.empty() ? 0 : what.first / block_tokens;
}

}  // namespace

gate_need replay::need(const replay_request& what) {
  const auto rows = static_cast<std::int64_t>(what.tokens.size());
  return {blocks_for(rows) - shared_blocks(what), 1};
}

replay::replay(replay_request what, loan_map map)
    : what_{std::move(what)}, map_{std::move(map)} {
  const auto shared = shared_blocks(what_);
  blocks_.assign(what_.prefix.begin(), what_.prefix.begin() + shared);
  const auto own = blocks_for(size()) - shared;
  for (std::int64_t i = 0; i < own; ++i) {
    blocks_.push_back(map_.block(static_cast<block_id>(i)));
  }
  at_ = what_.prefix.empty() ? 0 : what_.first;
}

std::optional<gate_unit> replay::next() {
  if (out_ || done_) return std::nullopt;
  out_ = true;
  gate_unit unit;
  const slot_id slot = map_.slot(0);
  if (at_ >= size() || !error_.empty()) {
    rows_out_ = 0;
    unit.work.released = {slot};
    return unit;
  }
  step& work = unit.work.work;
  work.id = ++steps_;
  if (!opened_) {
    opened_ = true;
    slot_start start;
    start.slot = slot;
    start.sampling = what_.sampling;
    start.prompt_tokens = static_cast<std::int32_t>(what_.prompt_tokens);
    start.drafts = false;
    unit.work.opened.push_back(std::move(start));
    if (at_ > 0) {
      unit.work.histories.push_back(
          {slot, {what_.tokens.begin(), what_.tokens.begin() + at_}});
    }
    if (at_ % block_tokens != 0) {
      const auto entry = static_cast<std::size_t>(at_ / block_tokens);
      work.copies.push_back({what_.prefix[entry], blocks_[entry]});
    }
  }
  const bool single = at_ >= what_.first;
  rows_out_ = single ? 1 : std::min(what_.chunk, what_.first - at_);
  step_item item;
  item.slot = slot;
  item.kind = single ? row_kind::decode : row_kind::prefill;
  item.position = static_cast<std::int32_t>(at_);
  item.tokens.assign(what_.tokens.begin() + at_,
                     what_.tokens.begin() + at_ + rows_out_);
  item.blocks.assign(blocks_.begin(),
                     blocks_.begin() + blocks_for(at_ + rows_out_));
  item.logits_begin = static_cast<std::int32_t>(single ? 0 : rows_out_);
  item.pick_begin = item.logits_begin;
  item.hash_logits = true;
  unit.kv.push_back(
      {item.blocks, item.position, static_cast<std::int32_t>(at_ + rows_out_)});
  if (at_ <= what_.read_position && what_.read_position < at_ + rows_out_) {
    unit.reads.push_back(
        {slot, static_cast<std::int32_t>(what_.read_position),
         what_.read_kv ? item.blocks : std::vector<block_id>{}});
  }
  work.items.push_back(std::move(item));
  unit.work.sequences = {0};
  return unit;
}

void replay::take(const gate_unit_result& result) {
  out_ = false;
  if (rows_out_ == 0) {
    done_ = true;
    return;
  }
  seconds_ += result.step.seconds;
  const auto fail = [&](const std::string& what) { error_ = what; };
  if (!result.step.error.empty()) return fail(result.step.error);
  if (result.step.items.size() != 1)
    return fail("a step's result is incomplete");
  const auto& item = result.step.items.front();
  if (!item.error.empty()) return fail(item.error);
  if (result.kv.size() != 1 ||
      result.kv[0].size() != static_cast<std::size_t>(rows_out_)) {
    return fail("hashes of K and V are missing");
  }
  if (!result.reads.empty()) read_ = result.reads.front();
  if (at_ >= what_.first) {
    if (item.logits_hashes.size() != 1 || item.logits_states.size() != 1) {
      return fail("a hash of logits is missing");
    }
    rows_.push_back({at_, item.logits_hashes[0], item.logits_states[0],
                     item.picks.empty() ? -1 : item.picks[0].token,
                     result.kv[0][0]});
  } else {
    prefix_kv_.insert(prefix_kv_.end(), result.kv[0].begin(),
                      result.kv[0].end());
  }
  at_ += rows_out_;
}

}  // namespace vouch::engine
