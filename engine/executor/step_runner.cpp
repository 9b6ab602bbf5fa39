#include "engine/executor/step_runner.hpp"

#include <bit>
#include <chrono>
#include <exception>
#include <utility>

#include "engine/executor/step_check.hpp"
#include "engine/hash64.hpp"
#include "engine/sampling/pick.hpp"

namespace vouch::engine {

namespace {

kernels::kv_layout layout_of(const model_config& config, kernels::dtype type) {
  return {config.kv_heads, config.head_dim, type};
}

/// In whole numbers, which vectorise: bit 31 of `infinity - magnitude` is set
/// for a NaN alone.
logits_state state_of(std::span<const float> logits) {
  constexpr std::uint32_t infinity = 0x7F800000U;
  std::uint32_t any = 0;
  std::uint32_t nan = 0;
  for (const float value : logits) {
    const auto magnitude = std::bit_cast<std::uint32_t>(value) & 0x7FFFFFFFU;
    any |= magnitude;
    nan |= infinity - magnitude;
  }
  return nan >> 31 != 0 ? logits_state::nan
         : any == 0     ? logits_state::zero
                        : logits_state::sound;
}

}  // namespace

step_runner::step_runner(std::shared_ptr<model> weights,
                         const cpu_executor_options& options,
                         const executor_limits& limits)
    : weights_{std::move(weights)},
      limits_{limits},
      vocab_size_{weights_->config().vocab_size},
      pool_{options.threads, options.cpus},
      kv_{layout_of(weights_->config(), options.kv_type),
          weights_->config().layers, limits.blocks},
      slots_{limits.slots},
      drafting_{options.drafter, *weights_, limits.slots},
      profile_{options.profile},
      points_{options.faults},
      plan_{options.plan} {}

void step_runner::observe_logits(executor::logits_observer observer) {
  observer_ = std::move(observer);
}

kv_hashes step_runner::hash_kv(const kv_range& range) {
  kv_hashes result;
  try {
    result.error = kv_.check(range);
    if (result.error.empty()) {
      result.hashes = kv_.hash(range, pool_);
    }
  } catch (const std::exception& error) {
    result.error = error.what();
  }
  return result;
}

void step_runner::open(slot_start start) {
  const slot_id slot = start.slot;
  if (start.drafts) {
    drafting_.open(slot);
  } else {
    drafting_.release(slot);
  }
  slots_.open(std::move(start));
}

void step_runner::release(slot_id slot) {
  drafting_.release(slot);
  slots_.release(slot);
}

draft_result step_runner::draft(const draft_batch& work) {
  return drafting_.draft(work, slots_, *weights_, pool_);
}

step_result step_runner::run(const step& work) {
  const auto begin = std::chrono::steady_clock::now();
  step_result result;
  result.id = work.id;
  try {
    if (failure_) {
      std::rethrow_exception(std::exchange(failure_, nullptr));
    }
    result.error = check_step(work, limits_, vocab_size_, slots_);
    if (result.error.empty()) {
      run_checked(work, result);
    }
  } catch (const std::exception& error) {
    result.error = "step " + std::to_string(work.id) + ": " + error.what();
  } catch (...) {
    result.error = "step " + std::to_string(work.id) + ": unknown exception";
  }
  if (!result.error.empty()) {
    result.items.clear();
  }
  // Ordinary steps have a row of logits a sequence; one that scores a prompt
  // has a chunk's, which nothing else needs.
  if (scores_) {
    logits_ = {};
    scores_ = false;
  }
  const std::chrono::duration<double> spent =
      std::chrono::steady_clock::now() - begin;
  result.seconds = spent.count();
  return result;
}

void step_runner::run_checked(const step& work, step_result& result) {
  for (const auto& copy : work.copies) {
    kv_.copy(copy);
  }
  lay_out(work, result);
  if (!tokens_.empty()) {
    compute(work, result);
  }
  collect(work, result);
}

void step_runner::compute(const step& work, step_result& result) {
  const auto vocab = static_cast<std::size_t>(vocab_size_);
  // Never cleared: rows are written before they are read.
  if (logits_.size() < logits_rows_.size() * vocab) {
    logits_.resize(logits_rows_.size() * vocab);
  }
  auto* const profile = profile_ ? &result.profile : nullptr;
  weights_->forward(
      {tokens_, positions_, sequences_, logits_indexes_, profile,
       drafting_.taps_for(work, tokens_.size()), points_.ready(), plan_},
      kv_.memory(), logits_.data(), pool_);
  result.drafter_seconds =
      drafting_.after_step(work, result, sequences_, tokens_, slots_, pool_);
  if (observer_) {
    for (std::size_t i = 0; i < logits_rows_.size(); ++i) {
      const auto& item = work.items[logits_rows_[i].item];
      observer_(item.slot, item.position + logits_rows_[i].row,
                logits_.data() + i * vocab, vocab_size_);
    }
  }
  step_clock clock{profile};
  pool_.parallel_for(static_cast<std::int64_t>(logits_rows_.size()),
                     [&](std::int64_t index) {
                       finish_row(work, static_cast<std::size_t>(index));
                     });
  clock.lap(step_part::pick);
  result.faulted_rows = points_.faulted_rows();
}

void step_runner::lay_out(const step& work, step_result& result) {
  tokens_.clear();
  positions_.clear();
  sequences_.clear();
  logits_indexes_.clear();
  logits_rows_.clear();
  points_.begin_step(work.id);
  result.items.resize(work.items.size());
  for (std::size_t i = 0; i < work.items.size(); ++i) {
    const step_item& item = work.items[i];
    slot_state& slot = *slots_.find(item.slot);
    result.items[i].slot = item.slot;
    std::span<const token_id> input{item.tokens};
    token_id last_pick = slot.last_pick;
    if (item.input_is_last_pick) {
      if (slot.last_pick_position != item.position - 1) {
        last_pick = -1;
      }
      input = {&last_pick, 1};
    }
    const std::size_t known = slot.history.size();
    slot.write(item.position, input);
    slot.last_pick = -1;
    slot.last_pick_position = -1;
    if (item.input_is_last_pick && last_pick < 0) {
      result.items[i].error = "its input, the pick of position " +
                              std::to_string(item.position - 1) +
                              ", was not made";
      continue;
    }
    points_.add_item(item, known);
    const auto first = static_cast<std::int64_t>(tokens_.size());
    const auto rows = static_cast<std::int32_t>(input.size());
    sequences_.push_back({item.blocks.data(), first, rows, item.position});
    for (std::int32_t row = 0; row < rows; ++row) {
      tokens_.push_back(input[static_cast<std::size_t>(row)]);
      positions_.push_back(item.position + row);
      if (row >= item.logits_begin) {
        logits_indexes_.push_back(static_cast<std::int32_t>(first) + row);
        logits_rows_.push_back({i, row, {}, {}});
        scores_ = scores_ || row < item.pick_begin;
      }
    }
  }
}

void step_runner::finish_row(const step& work, std::size_t index) {
  logits_row& row = logits_rows_[index];
  const step_item& item = work.items[row.item];
  const auto vocab = static_cast<std::size_t>(vocab_size_);
  const std::span<const float> logits{logits_.data() + index * vocab, vocab};
  if (item.hash_logits) {
    row.hash = hash64(std::as_bytes(logits));
    row.state = state_of(logits);
  }
  try {
    row.picked = pick_row(item, index, logits);
  } catch (const std::exception& error) {
    row.error = "row " + std::to_string(row.row) + " at position " +
                std::to_string(item.position + row.row) + ": " + error.what();
  }
}

picked_token step_runner::pick_row(const step_item& item, std::size_t index,
                                   std::span<const float> logits) {
  const std::int32_t row = logits_rows_[index].row;
  const slot_state& slot = *std::as_const(slots_).find(item.slot);
  if (row < item.pick_begin) {
    const auto next = static_cast<std::size_t>(row) + 1;
    return score(
        logits, next < item.tokens.size() ? item.tokens[next] : item.next_token,
        slot.sampling.logprobs);
  }
  std::int64_t position = item.position + row;
  std::size_t known = static_cast<std::size_t>(position) + 1;
  if (points_.hits(fault_site::penalties, logits_indexes_[index])) {
    known -= static_cast<std::size_t>(row);
  }
  if (points_.hits(fault_site::sampler_position, logits_indexes_[index])) {
    ++position;
  }
  const std::span<const token_id> history{slot.history};
  return pick(logits, slot.sampling,
              {history.first(known), slot.prompt_tokens, position});
}

void step_runner::collect(const step& work, step_result& result) {
  for (auto& row : logits_rows_) {
    collect_row(work.items[row.item], row, result.items[row.item]);
  }
  for (std::size_t i = 0; i < work.items.size(); ++i) {
    const step_item& item = work.items[i];
    step_item_result& out = result.items[i];
    if (!out.error.empty()) {
      out.picks.clear();
      out.prompt_logprobs.clear();
    } else if (!out.picks.empty()) {
      slot_state& slot = *slots_.find(item.slot);
      slot.last_pick = out.picks.back().token;
      slot.last_pick_position =
          item.position + static_cast<std::int32_t>(item.tokens.size()) - 1;
    }
  }
}

void step_runner::collect_row(const step_item& item, logits_row& row,
                              step_item_result& out) {
  if (item.hash_logits) {
    out.logits_hashes.push_back(row.hash);
    out.logits_states.push_back(row.state);
  }
  const bool picks = row.row >= item.pick_begin;
  if (!row.error.empty()) {
    // A verify row may lie behind a rejected draft, where nothing counts.
    auto& error =
        picks && item.kind == row_kind::verify ? out.row_error : out.error;
    if (error.empty()) {
      error = std::move(row.error);
    }
    row.picked = {};
  }
  (picks ? out.picks : out.prompt_logprobs).push_back(std::move(row.picked));
}

}  // namespace vouch::engine
