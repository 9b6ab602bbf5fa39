#include "engine/drafters/dflash_drafter.hpp"

#include <algorithm>
#include <exception>
#include <utility>

#include "engine/drafters/evidence.hpp"

namespace vouch::engine {

dflash_drafter::dflash_drafter(std::unique_ptr<dflash> weights,
                               dflash_drafter_options options)
    : weights_{std::move(weights)},
      options_{std::move(options)},
      row_size_{static_cast<std::int64_t>(weights_->taps().size()) *
                weights_->config().tap_width} {}

int dflash_drafter::max_width() const {
  return std::min(weights_->max_drafts() + 1, max_round_width);
}

std::string dflash_drafter::description() const {
  const auto& config = weights_->config();
  std::string taps;
  for (const auto tap : config.taps) {
    taps += ' ';
    taps += std::to_string(tap);
  }
  return "dflash " + options_.name + ", layers " +
         std::to_string(config.shape.layers) + ", block of " +
         std::to_string(config.block_size) + ", taps" + taps;
}

std::size_t dflash_drafter::context_bytes() const {
  std::size_t bytes = 0;
  for (const auto& state : slots_) {
    if (state.context) bytes += state.context->bytes();
  }
  for (const auto& state : kept_) bytes += state.context->bytes();
  return bytes;
}

dflash_drafter::sequence* dflash_drafter::find(slot_id slot) {
  const auto index = static_cast<std::size_t>(slot);
  if (slot < 0 || index >= slots_.size() || !slots_[index].open) return nullptr;
  return &slots_[index];
}

const dflash_context* dflash_drafter::context_of(slot_id slot) const {
  const auto* state = const_cast<dflash_drafter*>(this)->find(slot);
  return state != nullptr && state->context ? &*state->context : nullptr;
}

void dflash_drafter::open(slot_id slot) {
  if (slot < 0) return;
  const auto index = static_cast<std::size_t>(slot);
  if (index >= slots_.size()) slots_.resize(index + 1);
  slots_[index] = {};
  slots_[index].open = true;
}

void dflash_drafter::release(slot_id slot) {
  auto* state = find(slot);
  if (state == nullptr) return;
  const auto& context = state->context;
  if (context && context->first_position() == 0 && context->rows() > 0) {
    cut(*state, context->end());
    kept_.push_front(std::move(*state));
    if (kept_.size() > options_.kept_contexts) kept_.pop_back();
  }
  *state = {};
}

// --------------------------------------------------------------- contexts

std::optional<dflash_context> dflash_drafter::borrow(
    std::span<const token_id> tokens) const {
  const auto begins = [&](const sequence& other) {
    return other.context && other.context->first_position() == 0 &&
           other.tokens.size() >= tokens.size() &&
           std::equal(tokens.begin(), tokens.end(), other.tokens.begin());
  };
  const auto end = static_cast<std::int64_t>(tokens.size());
  for (const auto& state : slots_) {
    if (begins(state)) return state.context->prefix(end);
  }
  for (const auto& state : kept_) {
    if (begins(state)) return state.context->prefix(end);
  }
  return {};
}

void dflash_drafter::sequence::start_anew() {
  context.reset();
  tokens.clear();
  waiting.clear();
}

std::int64_t dflash_drafter::waiting_rows(const sequence& state) const {
  return static_cast<std::int64_t>(state.waiting.size()) / row_size_;
}

std::int64_t dflash_drafter::end(const sequence& state) const {
  return state.context->end() + waiting_rows(state);
}

void dflash_drafter::cut(sequence& state, std::int64_t position) {
  auto& context = *state.context;
  const auto rows = position - context.first_position();
  if (position < context.end()) context.truncate(position);
  state.waiting.resize(
      static_cast<std::size_t>((position - context.end()) * row_size_));
  state.tokens.resize(static_cast<std::size_t>(rows));
}

void dflash_drafter::make_ready(sequence& state, const stepped_rows& rows,
                                kernels::thread_pool& pool) {
  auto& context = state.context;
  const std::int64_t position = rows.position;
  if (context && position >= context->first_position() &&
      position <= end(state)) {
    cut(state, position);
    return;
  }
  state.start_anew();
  if (position > 0) {
    append_waiting(pool);
    context = borrow(rows.before);
  }
  if (context) {
    state.tokens.assign(rows.before.begin(), rows.before.end());
  } else {
    context = weights_->new_context(position);
  }
}

void dflash_drafter::append_waiting(kernels::thread_pool& pool) {
  std::vector<dflash::context_rows> parts;
  for (auto& state : slots_) {
    if (state.waiting.empty()) continue;
    parts.push_back(
        {&*state.context, state.waiting.data(), waiting_rows(state)});
  }
  if (parts.empty()) return;
  try {
    weights_->append(parts, pool);
  } catch (...) {
    for (auto& state : slots_) {
      if (!state.waiting.empty()) state.start_anew();
    }
    throw;
  }
  for (auto& state : slots_) state.waiting = {};
  keep_within_limit();
}

void dflash_drafter::after_step(std::span<const stepped_rows> items,
                                kernels::thread_pool& pool) {
  for (const auto& item : items) {
    auto* state = find(item.slot);
    if (state == nullptr || state->full) continue;
    make_ready(*state, item, pool);
    const auto rows = static_cast<std::int64_t>(item.tokens.size());
    state->waiting.insert(state->waiting.end(), item.taps,
                          item.taps + rows * row_size_);
    state->tokens.insert(state->tokens.end(), item.tokens.begin(),
                         item.tokens.end());
  }
  std::int64_t waiting = 0;
  for (const auto& state : slots_) waiting += waiting_rows(state);
  if (waiting >= options_.waiting_rows) append_waiting(pool);
}

void dflash_drafter::keep_within_limit() {
  auto bytes = context_bytes();
  while (bytes > options_.context_bytes && !kept_.empty()) {
    bytes -= kept_.back().context->bytes();
    kept_.pop_back();
  }
  while (bytes > options_.context_bytes) {
    sequence* largest = nullptr;
    for (auto& state : slots_) {
      if (state.context &&
          (largest == nullptr ||
           state.context->bytes() > largest->context->bytes())) {
        largest = &state;
      }
    }
    if (largest == nullptr) break;
    bytes -= largest->context->bytes();
    *largest = {};
    largest->open = true;
    largest->full = true;
  }
}

// ----------------------------------------------------------------- drafts

void dflash_drafter::propose(std::span<device_draft_job> jobs, model& target,
                             kernels::thread_pool& pool) {
  append_waiting(pool);
  for (auto& job : jobs) {
    try {
      propose_one(job, target, pool);
    } catch (const std::exception& error) {
      job.problem = error.what();
    }
  }
}

void dflash_drafter::propose_one(device_draft_job& job, model& target,
                                 kernels::thread_pool& pool) {
  auto* state = find(job.slot);
  if (state == nullptr || (!state->full && !state->context)) {
    job.problem = "no row of its sequence was seen";
    return;
  }
  if (state->full) {
    job.problem = "the drafter's contexts have no room left (" +
                  std::to_string(options_.context_bytes) + " bytes)";
    return;
  }
  auto& context = *state->context;
  const auto position = static_cast<std::int64_t>(job.history.size());
  if (position < context.first_position() || position > context.end()) {
    job.problem = "its context covers positions " +
                  std::to_string(context.first_position()) + " to " +
                  std::to_string(context.end()) + ", its anchor is at " +
                  std::to_string(position);
    return;
  }
  cut(*state, position);
  const int wanted = std::min(job.width - 1, weights_->max_drafts());
  auto tokens = weights_->propose(context, job.anchor, wanted, target, pool);
  const auto logits = weights_->logits();
  const auto vocabulary = logits.size() / static_cast<std::size_t>(wanted);
  const auto first = greedy(logits.first(vocabulary));
  if (!first || tokens.size() < static_cast<std::size_t>(wanted)) {
    job.problem = "logits of draft " +
                  std::to_string(first ? tokens.size() : 0) + " hold a NaN";
    return;
  }
  // A mask is no token of the text: the block ends before it.
  const auto& config = weights_->config();
  const auto end =
      std::find_if(tokens.begin(), tokens.end(), [&](token_id token) {
        return token < 0 || token >= config.shape.vocab_size ||
               token == config.mask_token;
      });
  tokens.erase(end, tokens.end());
  job.result = {std::move(tokens), evidence_of(first->margin)};
}

}  // namespace vouch::engine
