#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "engine/schedule/scheduler.hpp"

namespace vouch::engine::test {

inline std::uint64_t mix(std::uint64_t h, std::uint64_t value) {
  h ^= value + 0x9e3779b97f4a7c15ULL + (h << 6) + (h >> 2);
  h *= 0xff51afd7ed558ccdULL;
  return h ^ (h >> 33);
}

inline constexpr int vocabulary = 40;

inline bool holds(const std::vector<token_id>& tokens, token_id token) {
  return std::find(tokens.begin(), tokens.end(), token) != tokens.end();
}

/// What the fake model picks after a prefix: a hash of it, of the seed and of
/// the choice. Stop tokens are avoided where the rules forbid them.
inline token_id fake_pick(std::uint64_t prefix, const sampling_params& p,
                          std::int64_t generated) {
  std::uint64_t h = mix(mix(prefix, p.seed), p.choice);
  for (;;) {
    const auto token = static_cast<token_id>(h % vocabulary);
    const bool early = generated < p.min_tokens;
    const bool barred =
        (holds(p.stop_tokens, token) && (early || p.ignore_eos)) ||
        (holds(p.request_stop_tokens, token) && early);
    if (!barred) return token;
    h = mix(h, 1);
  }
}

inline std::string_view fake_bytes(token_id token) {
  static const std::string letters = "abcdefghijklmnopqrstuvwxyz0123456789-_+=";
  return std::string_view{letters}.substr(static_cast<std::size_t>(token), 1);
}

/// What a sequence must give when it runs alone.
struct known_text {
  std::vector<token_id> tokens;
  finish_reason reason = finish_reason::length;
  token_id stop_token = -1;
  std::int32_t stop_string = -1;
};

inline known_text text_alone(const sequence_start& s,
                             const executor_limits& limits) {
  known_text known;
  std::uint64_t h = 0;
  for (const auto t : s.prompt) h = mix(h, static_cast<std::uint64_t>(t));
  const auto prompt = static_cast<std::int64_t>(s.prompt.size());
  std::int64_t left = std::min<std::int64_t>(
      limits.context - prompt, std::int64_t{limits.blocks} * 16 + 1 - prompt);
  if (s.max_tokens >= 0) left = std::min(left, s.max_tokens);
  std::string bytes;
  while (static_cast<std::int64_t>(known.tokens.size()) < left) {
    const auto t = fake_pick(h, s.sampling,
                             static_cast<std::int64_t>(known.tokens.size()));
    if (holds(s.sampling.request_stop_tokens, t) ||
        (!s.sampling.ignore_eos && holds(s.sampling.stop_tokens, t))) {
      known.reason = finish_reason::stop;
      known.stop_token = t;
      return known;
    }
    known.tokens.push_back(t);
    h = mix(h, static_cast<std::uint64_t>(t));
    bytes += fake_bytes(t);
    for (std::size_t i = 0; i < s.stop_strings.size(); ++i) {
      if (bytes.find(s.stop_strings[i]) != std::string::npos) {
        known.reason = finish_reason::stop;
        known.stop_string = static_cast<std::int32_t>(i);
        return known;
      }
    }
  }
  return known;
}

/// An executor whose KV rows are hashes of the tokens up to and including
/// them, so that a stale, overwritten, wrongly shared or never computed row is
/// noticed by whoever reads it. Also checks what a step must obey.
class fake_executor {
 public:
  explicit fake_executor(executor_limits limits)
      : limits_{limits}, blocks_(static_cast<std::size_t>(limits.blocks)) {}

  /// Runs a planned step; its result is kept for `complete`.
  void submit(const scheduler::planned_step& planned, std::int64_t row_budget) {
    for (const auto slot : planned.released) {
      ASSERT_EQ(slots_.erase(slot), 1U) << "released a slot that is not open";
      for (const auto& f : flights_) {
        ASSERT_EQ(f.slots.count(slot), 0U) << "released a slot in flight";
      }
    }
    for (const auto& start : planned.opened) {
      ASSERT_GE(start.slot, 0);
      ASSERT_LT(start.slot, limits_.slots);
      ASSERT_TRUE(slots_.emplace(start.slot, slot{start, {}, -1, 0}).second)
          << "opened a slot twice";
    }
    for (const auto& history : planned.histories) {
      ASSERT_EQ(slots_.count(history.slot), 1U);
      slots_.at(history.slot).tokens = history.tokens;
    }
    const step& work = planned.work;
    ASSERT_EQ(work.id, ++last_step_);
    ASSERT_FALSE(work.items.empty());
    ASSERT_LE(work.rows(), row_budget);
    flight f;
    f.result.id = work.id;
    f.result.seconds = 0.001;
    copy_blocks(work, f);
    bool prefill_seen = false;
    for (const auto& item : work.items) {
      ASSERT_TRUE(f.slots.insert(item.slot).second) << "two items of a slot";
      prefill_seen = prefill_seen || item.kind == row_kind::prefill;
      ASSERT_FALSE(prefill_seen && item.kind != row_kind::prefill)
          << "decode and verify rows come first";
      run(item, work.id, f);
      if (testing::Test::HasFatalFailure()) return;
    }
    check_conflicts(f);
    flights_.push_back(std::move(f));
  }

  /// The row that stands at a position of a block table.
  std::uint64_t row_at(const std::vector<block_id>& blocks,
                       std::int64_t position) {
    return at(blocks.at(static_cast<std::size_t>(position / 16)), position);
  }
  std::size_t in_flight() const { return flights_.size(); }
  std::size_t open_slots() const { return slots_.size(); }
  step_result complete() {
    auto result = std::move(flights_.front().result);
    flights_.pop_front();
    return result;
  }

 private:
  using row = std::pair<block_id, int>;
  struct slot {
    slot_start start;
    std::vector<token_id> tokens;
    token_id last_pick = -1;
    step_id last_pick_step = 0;
  };
  struct flight {
    step_result result;
    std::set<slot_id> slots;
    std::map<row, slot_id> written;
    /// How many of a block's first rows a slot reads.
    std::map<block_id, std::map<slot_id, std::int64_t>> read;
  };

  std::uint64_t& at(block_id block, std::int64_t position) {
    return blocks_.at(static_cast<std::size_t>(block))
        .at(static_cast<std::size_t>(position % 16));
  }

  void copy_blocks(const step& work, flight& f) {
    std::set<block_id> targets;
    for (const auto& copy : work.copies) {
      ASSERT_EQ(targets.count(copy.from), 0U) << "copies a copy";
      ASSERT_TRUE(targets.insert(copy.to).second);
      blocks_.at(static_cast<std::size_t>(copy.to)) =
          blocks_.at(static_cast<std::size_t>(copy.from));
      // The target is in a table of this very step, which reads its rows
      // through the source.
      const auto user = std::find_if(
          work.items.begin(), work.items.end(), [&](const step_item& item) {
            const auto i = static_cast<std::size_t>(item.position / 16);
            return i < item.blocks.size() && item.blocks[i] == copy.to;
          });
      ASSERT_NE(user, work.items.end()) << "a copy nobody uses";
      f.read[copy.from][user->slot] = user->position % 16;
    }
  }

  void run(const step_item& item, step_id id, flight& f) {
    ASSERT_EQ(slots_.count(item.slot), 1U) << "item of a closed slot";
    slot& s = slots_.at(item.slot);
    const auto rows = static_cast<std::int64_t>(item.tokens.size());
    ASSERT_GT(rows, 0);
    ASSERT_GE(static_cast<std::int64_t>(item.blocks.size()) * 16,
              item.position + rows);
    ASSERT_LE(item.position + rows, limits_.context);
    ASSERT_GE(static_cast<std::int64_t>(s.tokens.size()), item.position)
        << "rows before this one were never told";
    ASSERT_LE(item.logits_begin, item.pick_begin);
    ASSERT_LE(item.pick_begin, rows);
    step_item_result out;
    out.slot = item.slot;
    s.tokens.resize(static_cast<std::size_t>(item.position));
    const std::int64_t end = item.position + rows;
    for (std::int64_t p = 0; p < end - 1; p += 16) {
      f.read[item.blocks[static_cast<std::size_t>(p / 16)]][item.slot] =
          std::min<std::int64_t>(16, end - 1 - p);
    }
    std::uint64_t h = 0;
    for (std::int64_t p = 0; p < item.position; ++p) {
      h = mix(
          h, static_cast<std::uint64_t>(s.tokens[static_cast<std::size_t>(p)]));
      ASSERT_EQ(at(item.blocks[static_cast<std::size_t>(p / 16)], p), h)
          << "slot " << item.slot << " reads a wrong row at position " << p;
    }
    for (std::int64_t i = 0; i < rows; ++i) {
      token_id input = item.tokens[static_cast<std::size_t>(i)];
      if (item.input_is_last_pick) {
        ASSERT_EQ(rows, 1);
        ASSERT_EQ(s.last_pick_step + 1, id) << "no pick in the step before";
        input = s.last_pick;
      }
      ASSERT_GE(input, 0);
      s.tokens.push_back(input);
      const std::int64_t position = item.position + i;
      h = mix(h, static_cast<std::uint64_t>(input));
      const auto b = item.blocks[static_cast<std::size_t>(position / 16)];
      at(b, position) = h;
      f.written[{b, static_cast<int>(position % 16)}] = item.slot;
      if (i >= item.pick_begin) {
        s.last_pick = fake_pick(h, s.start.sampling,
                                position + 1 - s.start.prompt_tokens);
        s.last_pick_step = id;
        out.picks.push_back({s.last_pick, 0.0F, {}});
        if (item.hash_logits) out.logits_hashes.push_back(h);
      } else if (i >= item.logits_begin) {
        const auto next = i + 1 < rows
                              ? item.tokens[static_cast<std::size_t>(i + 1)]
                              : item.next_token;
        ASSERT_GE(next, 0);
        out.prompt_logprobs.push_back({next, static_cast<float>(position), {}});
        if (item.hash_logits) out.logits_hashes.push_back(h);
      }
    }
    out.logits_states.resize(out.logits_hashes.size());
    f.result.items.push_back(std::move(out));
  }

  /// Rows of a step run side by side, and nothing that a step in flight uses
  /// may be written by somebody else.
  void check_conflicts(const flight& f) {
    for (const auto& [where, writer] : f.written) {
      ASSERT_FALSE(read_by_another(f, where, writer))
          << "a row is read while it is written";
      for (const auto& before : flights_) {
        const auto written = before.written.find(where);
        ASSERT_TRUE(written == before.written.end() ||
                    written->second == writer)
            << "a row in flight is written again";
        ASSERT_FALSE(read_by_another(before, where, writer))
            << "a row that is read in flight is written";
      }
    }
  }

  static bool read_by_another(const flight& f, const row& where,
                              slot_id writer) {
    const auto block = f.read.find(where.first);
    if (block == f.read.end()) return false;
    for (const auto& [reader, rows] : block->second) {
      if (reader != writer && where.second < rows) return true;
    }
    return false;
  }

  executor_limits limits_;
  std::vector<std::array<std::uint64_t, 16>> blocks_;
  std::map<slot_id, slot> slots_;
  std::deque<flight> flights_;
  step_id last_step_ = 0;
};

}  // namespace vouch::engine::test
