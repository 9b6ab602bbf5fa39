#include "engine/executor/drafter_host.hpp"

#include <algorithm>
#include <chrono>
#include <exception>
#include <stdexcept>
#include <utility>

namespace vouch::engine {

namespace {

double seconds_since(std::chrono::steady_clock::time_point begin) {
  return std::chrono::duration<double>{std::chrono::steady_clock::now() - begin}
      .count();
}

}  // namespace

drafter_host::drafter_host(std::shared_ptr<device_drafter> drafter,
                           const model& target, std::int32_t slots)
    : drafter_{std::move(drafter)},
      hidden_size_{target.config().hidden_size},
      vocab_size_{target.config().vocab_size},
      slots_(drafter_ ? static_cast<std::size_t>(slots) : 0) {
  if (drafter_ && !drafter_->taps().empty() && !target.serves_drafters()) {
    throw std::invalid_argument{"the drafter taps hidden states, and family '" +
                                target.config().family + "' hands out none"};
  }
  // Of an executor before this one.
  for (slot_id slot = 0; drafter_ && slot < slots; ++slot) {
    guarded([&] { drafter_->release(slot); });
  }
}

drafter_host::slot_note* drafter_host::find(slot_id slot) {
  if (slot < 0 || static_cast<std::size_t>(slot) >= slots_.size()) {
    return nullptr;
  }
  return &slots_[static_cast<std::size_t>(slot)];
}

template <class Call>
std::string drafter_host::guarded(Call call) {
  try {
    call();
    return {};
  } catch (const std::exception& error) {
    return error.what();
  } catch (...) {
    return "unknown exception";
  }
}

void drafter_host::open(slot_id slot) {
  auto* note = find(slot);
  if (note == nullptr) return;
  *note = {};
  // One that cannot be opened is not drafted for.
  note->open = guarded([&] { drafter_->open(slot); }).empty();
}

void drafter_host::release(slot_id slot) {
  auto* note = find(slot);
  if (note == nullptr || !note->open) return;
  *note = {};
  guarded([&] { drafter_->release(slot); });
}

void drafter_host::start_anew(slot_id slot, const std::string& problem) {
  open(slot);
  if (auto* note = find(slot)) note->problem = problem;
}

hidden_taps drafter_host::taps_for(const step& work, std::size_t rows) {
  if (!drafter_ || drafter_->taps().empty()) return {};
  const bool wanted =
      std::any_of(work.items.begin(), work.items.end(), [&](const auto& item) {
        const auto* note = find(item.slot);
        return note != nullptr && note->open;
      });
  if (!wanted) return {};
  const auto layers = drafter_->taps();
  const auto size =
      rows * layers.size() * static_cast<std::size_t>(hidden_size_);
  // Never cleared: rows are written before they are read.
  if (taps_.size() < size) taps_.resize(size);
  return {layers, taps_.data()};
}

double drafter_host::after_step(
    const step& work, const step_result& result,
    std::span<const kernels::attention_rows> sequences,
    std::span<const token_id> tokens, const slot_table& slots,
    kernels::thread_pool& pool) {
  if (!drafter_) return 0.0;
  const auto begin = std::chrono::steady_clock::now();
  items_.clear();
  const auto row_size =
      drafter_->taps().size() * static_cast<std::size_t>(hidden_size_);
  std::size_t next = 0;
  for (std::size_t i = 0; i < work.items.size(); ++i) {
    if (!result.items[i].error.empty()) continue;
    const auto& rows = sequences[next++];
    const auto& item = work.items[i];
    const auto* note = find(item.slot);
    if (note == nullptr || !note->open) continue;
    const auto first = static_cast<std::size_t>(rows.first_row);
    const std::span<const token_id> history{slots.find(item.slot)->history};
    items_.push_back(
        {item.slot, item.position,
         tokens.subspan(first, static_cast<std::size_t>(rows.rows)),
         history.first(static_cast<std::size_t>(item.position)),
         row_size > 0 ? taps_.data() + first * row_size : nullptr});
  }
  if (items_.empty()) return 0.0;
  const auto problem = guarded([&] { drafter_->after_step(items_, pool); });
  if (!problem.empty()) {
    for (const auto& item : items_) start_anew(item.slot, problem);
  }
  return seconds_since(begin);
}

std::string drafter_host::check(const draft_item& item,
                                const slot_state* slot) {
  auto* note = find(item.slot);
  const auto name = "slot " + std::to_string(item.slot);
  if (slot == nullptr || note == nullptr || !note->open) {
    return name + " is not open for drafts";
  }
  if (!note->problem.empty()) return std::exchange(note->problem, {});
  if (item.position < 0 ||
      static_cast<std::size_t>(item.position) > slot->history.size()) {
    return name + " holds " + std::to_string(slot->history.size()) +
           " tokens, its anchor is at " + std::to_string(item.position);
  }
  if (item.anchor < 0 || item.anchor >= vocab_size_) {
    return "the anchor " + std::to_string(item.anchor) +
           " is outside the vocabulary";
  }
  return {};
}

draft_result drafter_host::draft(const draft_batch& work,
                                 const slot_table& slots, model& target,
                                 kernels::thread_pool& pool) {
  const auto begin = std::chrono::steady_clock::now();
  draft_result result;
  result.id = work.id;
  if (!drafter_) {
    result.error = "the executor has no drafter";
    return result;
  }
  std::vector<device_draft_job> jobs;
  std::vector<std::size_t> owners;
  for (const auto& item : work.items) {
    auto& out = result.items.emplace_back();
    out.slot = item.slot;
    const auto* slot = slots.find(item.slot);
    out.problem = check(item, slot);
    if (std::any_of(jobs.begin(), jobs.end(),
                    [&](const auto& job) { return job.slot == item.slot; })) {
      out.problem = "slot " + std::to_string(item.slot) + " is named twice";
    }
    const int width = std::min(item.width, drafter_->max_width());
    if (!out.problem.empty() || width < 2) continue;
    const std::span<const token_id> history{slot->history};
    auto& job = jobs.emplace_back();
    job.slot = item.slot;
    job.history = history.first(static_cast<std::size_t>(item.position));
    job.anchor = item.anchor;
    job.width = width;
    job.sampling = slot->sampling;
    job.sampling->logprobs = -1;
    job.prompt_tokens = slot->prompt_tokens;
    owners.push_back(result.items.size() - 1);
  }
  const auto problem = guarded([&] {
    if (!jobs.empty()) drafter_->propose(jobs, target, pool);
  });
  for (std::size_t i = 0; i < jobs.size(); ++i) {
    auto& out = result.items[owners[i]];
    out.problem = problem.empty() ? jobs[i].problem : problem;
    if (out.problem.empty()) out.proposal = std::move(jobs[i].result);
  }
  result.seconds = seconds_since(begin);
  return result;
}

}  // namespace vouch::engine
