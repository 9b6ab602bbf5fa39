#include "engine/drafters/dflash_drafter.hpp"

#include <algorithm>
#include <exception>
#include <utility>

#include "engine/drafters/evidence.hpp"

namespace vouch::engine {

dflash_drafter::dflash_drafter(std::unique_ptr<dflash> weights,
                               dflash_drafter_options options)
    : weights_{std::move(weights)}, options_{std::move(options)} {}

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

void dflash_drafter::make_ready(sequence& state, const stepped_rows& rows) {
  auto& context = state.context;
  const std::int64_t position = rows.position;
  if (!context || position < context->first_position() ||
      position > context->end()) {
    context.reset();
    state.tokens.clear();
    if (position > 0) context = borrow(rows.before);
    if (context) {
      state.tokens.assign(rows.before.begin(), rows.before.end());
    } else {
      context = weights_->new_context(position);
    }
  }
  context->truncate(position);
  state.tokens.resize(static_cast<std::size_t>(context->rows()));
}

void dflash_drafter::after_step(std::span<const stepped_rows> items,
                                kernels::thread_pool& pool) {
  std::vector<dflash::context_rows> parts;
  for (const auto& item : items) {
    auto* state = find(item.slot);
    if (state == nullptr || state->full) continue;
    make_ready(*state, item);
    parts.push_back({&*state->context, item.taps,
                     static_cast<std::int64_t>(item.tokens.size())});
  }
  weights_->append(parts, pool);
  for (const auto& item : items) {
    auto* state = find(item.slot);
    if (state == nullptr || state->full) continue;
    state->tokens.insert(state->tokens.end(), item.tokens.begin(),
                         item.tokens.end());
  }
  keep_within_limit(items);
}

void dflash_drafter::keep_within_limit(std::span<const stepped_rows> items) {
  auto bytes = context_bytes();
  while (bytes > options_.context_bytes && !kept_.empty()) {
    bytes -= kept_.back().context->bytes();
    kept_.pop_back();
  }
  for (const auto& item : items) {
    if (bytes <= options_.context_bytes) return;
    auto* state = find(item.slot);
    if (state == nullptr || !state->context) continue;
    bytes -= state->context->bytes();
    *state = {};
    state->open = true;
    state->full = true;
  }
}

// ----------------------------------------------------------------- drafts

void dflash_drafter::propose(std::span<device_draft_job> jobs, model& target,
                             kernels::thread_pool& pool) {
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
  context.truncate(position);
  state->tokens.resize(static_cast<std::size_t>(context.rows()));
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
