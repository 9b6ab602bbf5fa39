#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "engine/checkpoint/checkpoint.hpp"
#include "engine/drafters/load_drafter.hpp"
#include "engine/executor/executor.hpp"
#include "tests/engine/executor/step_items.hpp"
#include "tests/support/files.hpp"

namespace vouch::test {

/// A model of tests/fixtures, on a pool of its own.
inline std::shared_ptr<engine::model> fixture_model(const std::string& name) {
  kernels::thread_pool pool{1};
  return engine::load_model(*engine::open_checkpoint(fixture(name)), pool);
}

inline std::vector<engine::token_id> some_prompt(int count, int vocabulary,
                                                 int kind = 0) {
  std::vector<engine::token_id> tokens;
  for (int i = 0; i < count; ++i) {
    tokens.push_back((i * i * (3 + kind) + 7 * i + 5 * kind + 3) %
                     (vocabulary - 4));
  }
  return tokens;
}

inline engine::sampling_params greedy_sampling() {
  engine::sampling_params sampling;
  sampling.temperature = 0;
  return sampling;
}

/// A target on an executor, with a drafter or none, driven by hand:
/// sequences, one a slot, each with blocks of its own.
class drafting_world {
 public:
  static constexpr int blocks_each = 24;

  explicit drafting_world(
      std::shared_ptr<engine::model> target,
      std::shared_ptr<engine::device_drafter> drafter = nullptr,
      int threads = 2) {
    engine::cpu_executor_options options;
    options.threads = threads;
    options.slots = 6;
    options.blocks = options.slots * blocks_each;
    options.drafter = std::move(drafter);
    device = engine::make_cpu_executor(std::move(target), options);
  }
  explicit drafting_world(
      const std::string& target,
      std::shared_ptr<engine::device_drafter> drafter = nullptr,
      int threads = 2)
      : drafting_world{fixture_model(target), std::move(drafter), threads} {}

  static std::vector<engine::block_id> blocks(engine::slot_id slot) {
    return block_range(slot * blocks_each, blocks_each);
  }

  /// The slot's text grows by what its steps emit; the anchor is its last.
  void open(engine::slot_id slot, std::vector<engine::token_id> prompt,
            bool drafts = true,
            engine::sampling_params sampling = greedy_sampling()) {
    engine::slot_start start;
    start.slot = slot;
    start.prompt_tokens = static_cast<std::int32_t>(prompt.size());
    start.drafts = drafts;
    start.sampling = std::move(sampling);
    device->open(start);
    if (texts.size() <= static_cast<std::size_t>(slot)) {
      texts.resize(static_cast<std::size_t>(slot) + 1);
    }
    text(slot) = std::move(prompt);
  }

  std::vector<engine::token_id>& text(engine::slot_id slot) {
    return texts.at(static_cast<std::size_t>(slot));
  }
  std::int32_t position(engine::slot_id slot) {
    return static_cast<std::int32_t>(text(slot).size()) - 1;
  }

  engine::step_result run(std::vector<engine::step_item> items) {
    auto result = engine::run_step(*device, make_step(++steps_, items));
    EXPECT_EQ(result.error, "");
    for (const auto& item : result.items) EXPECT_EQ(item.error, "");
    return result;
  }

  /// Computes the prompt from `from` on, `chunk` tokens a step.
  void prefill_all(engine::slot_id slot, std::int32_t chunk = 1000,
                   std::int32_t from = 0) {
    const auto prompt = text(slot);
    const auto end = static_cast<std::int32_t>(prompt.size());
    for (auto at = from; at < end; at += chunk) {
      const auto stop = std::min(at + chunk, end);
      auto item = prefill(
          slot, at, {prompt.begin() + at, prompt.begin() + stop}, blocks(slot));
      const auto result = run({item});
      if (stop == end) {
        text(slot).push_back(result.items.at(0).picks.at(0).token);
      }
    }
  }

  engine::step_item decode_item(engine::slot_id slot) {
    return decode(slot, position(slot), text(slot).back(), blocks(slot));
  }
  engine::step_item verify_item(engine::slot_id slot,
                                const std::vector<engine::token_id>& drafts) {
    auto item = decode_item(slot);
    item.kind = engine::row_kind::verify;
    item.tokens.insert(item.tokens.end(), drafts.begin(), drafts.end());
    return item;
  }

  void decode_one(engine::slot_id slot) {
    const auto result = run({decode_item(slot)});
    text(slot).push_back(result.items.at(0).picks.at(0).token);
  }

  /// A round with these drafts; how many were accepted.
  int verify(engine::slot_id slot,
             const std::vector<engine::token_id>& drafts) {
    const auto result = run({verify_item(slot, drafts)});
    return settle(slot, drafts, result.items.at(0));
  }
  int settle(engine::slot_id slot, const std::vector<engine::token_id>& drafts,
             const engine::step_item_result& result) {
    int accepted = 0;
    for (std::size_t i = 0; i < result.picks.size(); ++i) {
      text(slot).push_back(result.picks[i].token);
      if (i >= drafts.size() || drafts[i] != result.picks[i].token) break;
      ++accepted;
    }
    return accepted;
  }

  engine::draft_item draft_item(engine::slot_id slot, int width) {
    return {slot, text(slot).back(), position(slot), width};
  }
  engine::draft_result draft(std::vector<engine::draft_item> items) {
    return engine::run_draft(*device, {++drafts_, std::move(items)});
  }
  engine::draft_item_result draft(engine::slot_id slot, int width) {
    const auto result = draft({draft_item(slot, width)});
    EXPECT_EQ(result.error, "");
    return result.items.at(0);
  }
  /// Drafts, where there is no problem.
  std::vector<engine::token_id> drafts(engine::slot_id slot, int width) {
    const auto result = draft(slot, width);
    EXPECT_EQ(result.problem, "");
    return result.proposal.tokens;
  }

  /// K and V of all positions that the text has rows for.
  std::vector<std::byte> kv(engine::slot_id slot) {
    std::vector<std::byte> all;
    for (std::int32_t at = 0; at < position(slot); ++at) {
      const auto row = device->read_kv(blocks(slot), at);
      all.insert(all.end(), row.begin(), row.end());
    }
    return all;
  }

  std::vector<std::vector<engine::token_id>> texts;
  std::unique_ptr<engine::executor> device;

 private:
  engine::step_id steps_ = 0;
  std::uint64_t drafts_ = 0;
};

}  // namespace vouch::test
