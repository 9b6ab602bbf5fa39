#include "engine/bisect/play.hpp"

#include <algorithm>
#include <memory>
#include <utility>

#include "engine/cache/block_pool.hpp"
#include "engine/gate/run_unit.hpp"

namespace vouch::engine {
namespace {

class player {
 public:
  player(executor& device, const bisect_case& of, bisect_arm arm,
         const std::optional<bisect_place>& capture)
      : device_{device}, case_{of}, arm_{arm}, capture_{capture} {
    give_blocks();
  }

  played_arm run() {
    compute_prefixes();
    for (std::size_t s = 0; s < case_.steps.size() && going(); ++s) {
      if (arm_ == bisect_arm::blocks) {
        play_step(s);
      } else {
        play_rows(s);
      }
    }
    if (going()) read_ends();
    return std::move(out_);
  }

 private:
  bool going() const { return out_.error.empty() && !captured_; }

  void give_blocks() {
    std::vector<std::int64_t> ends(case_.sequences.size());
    for (std::size_t i = 0; i < ends.size(); ++i) {
      ends[i] = static_cast<std::int64_t>(case_.sequences[i].tokens.size());
    }
    for (const auto& items : case_.steps) {
      for (const auto& item : items) {
        const auto end =
            item.position + static_cast<std::int64_t>(item.tokens.size());
        ends[item.sequence] = std::max(ends[item.sequence], end);
      }
    }
    block_id next = 0;
    for (const auto end : ends) {
      blocks_.emplace_back();
      for (std::int64_t b = 0; b < blocks_for(end); ++b) {
        blocks_.back().push_back(next++);
      }
    }
  }

  std::vector<block_id> blocks(std::size_t sequence, std::int64_t rows) const {
    const auto& all = blocks_[sequence];
    return {all.begin(), all.begin() + blocks_for(rows)};
  }

  /// Logits without a pick need the token that follows.
  step_item item_of(std::size_t sequence, row_kind kind, std::int64_t position,
                    std::vector<token_id> tokens,
                    std::int64_t logits_begin) const {
    const auto& s = case_.sequences[sequence];
    const auto rows = static_cast<std::int64_t>(tokens.size());
    step_item item;
    item.slot = static_cast<slot_id>(sequence);
    item.kind = kind;
    item.position = static_cast<std::int32_t>(position);
    item.tokens = std::move(tokens);
    item.blocks = blocks(sequence, position + rows);
    item.logits_begin = static_cast<std::int32_t>(logits_begin);
    const auto first_pick =
        std::clamp<std::int64_t>(s.prompt - 1 - position, logits_begin, rows);
    item.pick_begin = static_cast<std::int32_t>(first_pick);
    const auto next = static_cast<std::size_t>(position + rows);
    item.next_token = next < s.tokens.size() ? s.tokens[next] : 0;
    item.hash_logits = true;
    return item;
  }

  gate_unit_result submit(std::vector<step_item> items) {
    gate_unit unit;
    unit.work.work.id = ++out_.steps;
    unit.work.opened = std::exchange(opened_, {});
    for (const auto& item : items) {
      const auto rows = static_cast<std::int32_t>(item.tokens.size());
      unit.kv.push_back({item.blocks, item.position, item.position + rows});
    }
    unit.work.work.items = std::move(items);
    auto result = run_unit(device_, std::move(unit));
    out_.faulted_rows += result.step.faulted_rows;
    out_.error = result.step.error;
    for (const auto& item : result.step.items) {
      if (out_.error.empty()) out_.error = item.error;
    }
    return result;
  }

  void compute_prefixes() {
    std::vector<std::int64_t> begins(case_.sequences.size(), -1);
    for (const auto& items : case_.steps) {
      for (const auto& item : items) {
        auto& begin = begins[item.sequence];
        if (begin < 0) begin = item.position;
      }
    }
    for (std::size_t i = 0; i < begins.size(); ++i) {
      const auto& s = case_.sequences[i];
      opened_.push_back({static_cast<slot_id>(i), s.sampling,
                         static_cast<std::int32_t>(s.prompt)});
      for (std::int64_t at = 0; at < begins[i] && going();) {
        const auto rows = std::min(case_.chunk, begins[i] - at);
        submit({item_of(i, row_kind::prefill, at,
                        {s.tokens.begin() + at, s.tokens.begin() + at + rows},
                        rows)});
        at += rows;
      }
    }
  }

  /// Sees the ops of one row while it lives.
  class watch {
   public:
    watch(executor& device, slot_id slot, std::int64_t position,
          std::vector<captured_op>& into)
        : device_{device} {
      device.observe_ops([slot, position, &into](const op_row& row) {
        if (row.slot != slot || row.position != position) return;
        into.push_back(
            {row.op, row.layer, {row.bytes.begin(), row.bytes.end()}});
      });
    }
    ~watch() { device_.observe_ops({}); }
    watch(const watch&) = delete;
    watch& operator=(const watch&) = delete;

   private:
    executor& device_;
  };

  std::unique_ptr<watch> watch_for(std::size_t step) {
    std::unique_ptr<watch> eye;
    if (capture_ && capture_->step == step) {
      const auto& item = case_.steps[step][capture_->item];
      eye =
          std::make_unique<watch>(device_, static_cast<slot_id>(item.sequence),
                                  item.position + capture_->row, out_.captured);
      captured_ = true;
    }
    return eye;
  }

  void take(const bisect_place& at, const bisect_item& item,
            const step_item& sent, const step_item_result& result,
            std::uint64_t kv, std::int64_t row) {
    played_row seen;
    seen.at = at;
    seen.sequence = item.sequence;
    seen.position = item.position + at.row;
    seen.kv = kv;
    const auto hash = static_cast<std::size_t>(row - sent.logits_begin);
    if (row >= sent.logits_begin && hash < result.logits_hashes.size()) {
      seen.logits = result.logits_hashes[hash];
      seen.state = result.logits_states[hash];
    }
    const auto pick = static_cast<std::size_t>(row - sent.pick_begin);
    if (row >= sent.pick_begin && pick < result.picks.size()) {
      seen.pick = result.picks[pick].token;
    }
    out_.rows.push_back(seen);
  }

  void play_step(std::size_t s) {
    const auto& items = case_.steps[s];
    std::vector<step_item> sent;
    for (const auto& item : items) {
      sent.push_back(item_of(item.sequence, item.kind, item.position,
                             item.tokens, item.logits_begin));
    }
    const auto eye = watch_for(s);
    const auto result = submit(sent);
    if (!out_.error.empty()) return;
    for (std::size_t i = 0; i < items.size(); ++i) {
      for (std::int64_t r = 0; r < items[i].kept; ++r) {
        take({s, i, r}, items[i], sent[i], result.step.items[i],
             result.kv[i][static_cast<std::size_t>(r)], r);
      }
    }
  }

  void play_rows(std::size_t s) {
    const auto& items = case_.steps[s];
    for (std::size_t i = 0; i < items.size(); ++i) {
      const auto& item = items[i];
      for (std::int64_t r = 0; r < item.kept && out_.error.empty(); ++r) {
        const auto token = item.tokens[static_cast<std::size_t>(r)];
        const auto sent = item_of(item.sequence, row_kind::decode,
                                  item.position + r, {token}, 0);
        const bool wanted = capture_ && bisect_place{s, i, r} == *capture_;
        const auto eye = wanted ? watch_for(s) : nullptr;
        const auto result = submit({sent});
        if (!out_.error.empty()) return;
        take({s, i, r}, item, sent, result.step.items[0], result.kv[0][0], 0);
      }
    }
  }

  void read_ends() {
    gate_unit unit;
    for (std::size_t i = 0; i < case_.sequences.size(); ++i) {
      std::int64_t end = 0;
      for (const auto& row : out_.rows) {
        if (row.sequence == i) end = std::max(end, row.position + 1);
      }
      unit.kv.push_back({blocks_[i], 0, static_cast<std::int32_t>(end)});
    }
    out_.kv_at_end = run_unit(device_, std::move(unit)).kv;
  }

  executor& device_;
  const bisect_case& case_;
  bisect_arm arm_;
  std::optional<bisect_place> capture_;
  std::vector<std::vector<block_id>> blocks_;
  std::vector<slot_start> opened_;
  bool captured_ = false;
  played_arm out_;
};

}  // namespace

played_arm play(executor& device, const bisect_case& of, bisect_arm arm,
                const std::optional<bisect_place>& capture) {
  return player{device, of, arm, capture}.run();
}

}  // namespace vouch::engine
