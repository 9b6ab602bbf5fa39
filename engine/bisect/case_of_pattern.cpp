#include <algorithm>
#include <numeric>
#include <random>
#include <stdexcept>

#include "engine/bisect/bisect_case.hpp"
#include "engine/bisect/play.hpp"
#include "engine/cache/block_pool.hpp"
#include "engine/executor/run_step.hpp"
#include "engine/gate/pattern_drafts.hpp"

namespace vouch::engine {
namespace {

/// The prompt and as many picks behind it, one row a step.
std::vector<token_id> text_of(executor& device, const pattern_options& o,
                              std::int64_t chunk) {
  auto tokens = o.prompt;
  const auto prompt = static_cast<std::int64_t>(o.prompt.size());
  const auto all = prompt + o.rows;
  std::vector<block_id> blocks(static_cast<std::size_t>(blocks_for(all)));
  std::iota(blocks.begin(), blocks.end(), 0);
  device.open({0, o.sampling, static_cast<std::int32_t>(prompt)});
  step work;
  for (std::int64_t at = 0; at < all;) {
    const auto known = static_cast<std::int64_t>(tokens.size());
    const auto rows = std::min(chunk, known - at);
    const bool picks = at + rows == known;
    step_item item;
    item.slot = 0;
    item.kind = known > prompt ? row_kind::decode : row_kind::prefill;
    item.position = static_cast<std::int32_t>(at);
    item.tokens.assign(tokens.begin() + at, tokens.begin() + at + rows);
    item.blocks = blocks;
    item.logits_begin = static_cast<std::int32_t>(picks ? rows - 1 : rows);
    item.pick_begin = item.logits_begin;
    ++work.id;
    work.items = {std::move(item)};
    const auto result = run_step(device, work);
    auto error = result.error;
    if (error.empty()) error = result.items.at(0).error;
    if (!error.empty()) throw std::runtime_error{"the text: " + error};
    if (picks) tokens.push_back(result.items[0].picks.at(0).token);
    at += rows;
  }
  return tokens;
}

}  // namespace

bisect_case case_of_pattern(executor& device, const pattern_options& o,
                            const bisect_sources& sources) {
  const auto prompt = static_cast<std::int64_t>(o.prompt.size());
  probe_text text;
  text.tokens = text_of(device, o, sources.chunk);
  text.prompt = prompt;
  bisect_case out;
  out.chunk = sources.chunk;
  const bool walk = o.pattern == draft_pattern::classic;
  out.what = "a prompt of " + std::to_string(prompt) + " tokens, " +
             std::to_string(o.rows) + " rows behind it, ";
  out.what += walk ? std::string{"one row a step"}
                   : "blocks of " + std::to_string(o.width) + ", drafts " +
                         std::string{name_of(o.pattern)};
  if (o.beside > 0) out.what += ", beside " + std::to_string(o.beside);
  // Text, and one token behind it that has no row.
  out.sequences.push_back({"the prompt",
                           {text.tokens.begin(), text.tokens.end() - 1},
                           prompt,
                           o.sampling});
  std::mt19937_64 random{sources.seed};
  for (int i = 0; i < o.beside; ++i) {
    bisect_sequence beside;
    beside.name = "beside it, " + std::to_string(i + 1);
    const auto size = 1 + (prompt + 7 * i) % 40;
    for (std::int64_t p = 0; p < size + o.rows; ++p) {
      beside.tokens.push_back(static_cast<token_id>(
          random() % static_cast<std::uint64_t>(sources.vocabulary)));
    }
    beside.prompt = size;
    beside.sampling.temperature = 0.0F;
    out.sequences.push_back(std::move(beside));
  }
  const auto drafts = open_pattern(walk ? draft_pattern::all : o.pattern, text,
                                   sources.vocabulary, nullptr, sources.seed);
  const auto end = static_cast<std::int64_t>(out.sequences[0].tokens.size());
  std::int64_t turn = 0;
  for (auto at = prompt; at < end; ++turn) {
    bisect_item block;
    block.kind = row_kind::verify;
    block.position = at;
    block.tokens = {text.tokens[static_cast<std::size_t>(at)]};
    const auto known =
        std::span{text.tokens}.first(static_cast<std::size_t>(at) + 1);
    if (!walk) {
      const auto drafted = drafts->propose(known, o.width).tokens;
      block.tokens.insert(block.tokens.end(), drafted.begin(), drafted.end());
    }
    block.kept = 0;
    for (const auto token : block.tokens) {
      const auto p = static_cast<std::size_t>(at + block.kept);
      if (at + block.kept >= end || text.tokens[p] != token) break;
      ++block.kept;
    }
    round_outcome outcome;
    outcome.accepted = static_cast<int>(block.kept) - 1;
    for (std::int64_t i = 1; i <= block.kept; ++i) {
      outcome.emitted.push_back(text.tokens[static_cast<std::size_t>(at + i)]);
    }
    drafts->observe(outcome);
    std::vector<bisect_item> items;
    for (int i = 0; i < o.beside; ++i) {
      if (i == (o.beside + 1) / 2) items.push_back(block);
      const auto index = static_cast<std::size_t>(i) + 1;
      const auto& s = out.sequences[index];
      bisect_item row;
      row.sequence = index;
      row.position = s.prompt + turn;
      row.tokens = {s.tokens[static_cast<std::size_t>(row.position)]};
      items.push_back(std::move(row));
    }
    at += block.kept;
    if (items.size() <= static_cast<std::size_t>(o.beside)) {
      items.push_back(std::move(block));
    }
    out.steps.push_back(std::move(items));
  }
  return out;
}

}  // namespace vouch::engine
