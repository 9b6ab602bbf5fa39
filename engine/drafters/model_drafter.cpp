#include "engine/drafters/model_drafter.hpp"

#include <algorithm>
#include <numeric>
#include <stdexcept>
#include <utility>

#include "engine/drafters/evidence.hpp"
#include "engine/sampling/pick.hpp"

namespace vouch::engine {

namespace {

std::int32_t context_of(const model_config& config,
                        const model_drafter_options& options) {
  return options.context > 0 ? std::min(options.context, config.max_position)
                             : config.max_position;
}

std::int64_t blocks_for(std::int64_t tokens) {
  return (tokens + kernels::kv_block_tokens - 1) / kernels::kv_block_tokens;
}

/// What one row of logits gave.
struct row_draft {
  token_id token = -1;
  float margin = 0.0F;
  std::string problem;
};

/// Picks as the job's sequence would after `text`, whose last token is the
/// row's input.
row_draft draft_from(std::span<const float> logits, const device_draft_job& job,
                     std::span<const token_id> text) {
  row_draft out;
  const auto first = greedy(logits);
  if (!first) {
    out.problem = "its logits hold a NaN";
    return out;
  }
  out.token = first->token;
  out.margin = first->margin;
  if (!job.sampling) return out;
  try {
    const auto position = static_cast<std::int64_t>(text.size()) - 1;
    out.token =
        pick(logits, *job.sampling, {text, job.prompt_tokens, position}).token;
  } catch (const std::exception& error) {
    out.problem = error.what();
  }
  return out;
}

kernels::kv_layout layout_of(const model_config& config,
                             const model_drafter_options& options) {
  return {config.kv_heads, config.head_dim, options.kv_type};
}

std::size_t block_bytes(const model_config& config,
                        const model_drafter_options& options) {
  return layout_of(config, options).block_bytes() *
         static_cast<std::size_t>(config.layers);
}

/// A round's own rows are no catching up.
constexpr std::int64_t round_rows = 16;

/// As many as all slots could fill, or as the memory holds.
std::int32_t block_count(const model_config& config,
                         const model_drafter_options& options) {
  if (options.slots < 1 || options.catch_up < 1) {
    throw std::invalid_argument{
        "draft model: slots and catch_up must be positive"};
  }
  const auto each = block_bytes(config, options);
  const auto wanted = options.slots * blocks_for(context_of(config, options));
  const auto held = static_cast<std::int64_t>(options.kv_bytes / each);
  const auto blocks = std::min({wanted, held, std::int64_t{1} << 30});
  if (blocks < 1) {
    throw std::invalid_argument{
        "draft model: " + std::to_string(options.kv_bytes) +
        " bytes of KV cache hold no block of " + std::to_string(each)};
  }
  return static_cast<std::int32_t>(blocks);
}

}  // namespace

model_drafter::model_drafter(std::unique_ptr<model> weights,
                             model_drafter_options options)
    : weights_{std::move(weights)},
      options_{std::move(options)},
      context_{context_of(weights_->config(), options_)},
      kv_{layout_of(weights_->config(), options_), weights_->config().layers,
          block_count(weights_->config(), options_)},
      free_(static_cast<std::size_t>(kv_.memory().blocks)) {
  // The lowest is taken first, and what was given back before what is new: the
  // pages in use stay few.
  std::iota(free_.rbegin(), free_.rend(), 0);
}

std::string model_drafter::description() const {
  return "model " + options_.name + ", layers " +
         std::to_string(weights_->config().layers) + ", context " +
         std::to_string(context_);
}

std::size_t model_drafter::context_bytes() const {
  const auto used =
      static_cast<std::size_t>(kv_.memory().blocks) - free_.size();
  return used * block_bytes(weights_->config(), options_);
}

void model_drafter::drop(sequence& state) {
  free_.insert(free_.end(), state.blocks.rbegin(), state.blocks.rend());
  state.blocks.clear();
  state.computed.clear();
}

void model_drafter::open(slot_id slot) {
  if (slot < 0) return;
  const auto index = static_cast<std::size_t>(slot);
  if (index >= slots_.size()) slots_.resize(index + 1);
  drop(slots_[index]);
  slots_[index].open = true;
}

void model_drafter::release(slot_id slot) {
  const auto index = static_cast<std::size_t>(slot);
  if (slot < 0 || index >= slots_.size()) return;
  drop(slots_[index]);
  slots_[index].open = false;
}

// ------------------------------------------------------------------- plan

bool model_drafter::plan(device_draft_job& job, run& out) {
  const auto index = static_cast<std::size_t>(job.slot);
  if (job.slot < 0 || index >= slots_.size() || !slots_[index].open) {
    job.problem = "slot " + std::to_string(job.slot) + " is not open";
    return false;
  }
  auto& state = slots_[index];
  state.used = calls_;
  const auto position = static_cast<std::int64_t>(job.history.size());
  const auto drafts =
      std::min<std::int64_t>(job.width - 1, context_ - position);
  if (drafts < 1) {
    job.problem = "position " + std::to_string(position) +
                  " is past the draft model's context of " +
                  std::to_string(context_);
    return false;
  }
  const auto least = std::min(state.computed.size(), job.history.size());
  const auto same = static_cast<std::size_t>(
      std::mismatch(state.computed.begin(),
                    state.computed.begin() + static_cast<std::ptrdiff_t>(least),
                    job.history.begin())
          .first -
      state.computed.begin());
  state.computed.resize(same);
  const auto unseen = job.history.subspan(same);
  out = {&job,
         &state,
         static_cast<std::int64_t>(unseen.size()) + 1,
         {unseen.begin(), unseen.end()},
         static_cast<int>(drafts)};
  out.input.push_back(job.anchor);
  return true;
}

void model_drafter::share_out(std::vector<run>& runs) const {
  std::stable_sort(runs.begin(), runs.end(), [](const run& a, const run& b) {
    return a.missing < b.missing;
  });
  std::int64_t left = options_.catch_up;
  for (auto& one : runs) {
    if (one.missing <= round_rows) continue;
    const auto count = std::min(one.missing, left);
    one.input.resize(static_cast<std::size_t>(count));
    left -= count;
  }
}

bool model_drafter::make_room(run& one) {
  auto& state = *one.state;
  const bool drafting =
      static_cast<std::int64_t>(one.input.size()) == one.missing;
  // The last draft's own row is not computed.
  const auto tokens = static_cast<std::int64_t>(state.computed.size()) +
                      static_cast<std::int64_t>(one.input.size()) +
                      (drafting ? one.drafts - 1 : 0);
  const auto wanted = static_cast<std::size_t>(blocks_for(tokens));
  while (state.blocks.size() < wanted) {
    if (free_.empty()) {
      // From whoever was drafted for longest ago, but not in this call.
      sequence* oldest = nullptr;
      for (auto& other : slots_) {
        if (other.used < calls_ && !other.blocks.empty() &&
            (oldest == nullptr || other.used < oldest->used)) {
          oldest = &other;
        }
      }
      if (oldest == nullptr) {
        one.job->problem = "the draft model's KV cache is full (" +
                           std::to_string(options_.kv_bytes) + " bytes)";
        return false;
      }
      drop(*oldest);
    }
    state.blocks.push_back(free_.back());
    free_.pop_back();
  }
  return true;
}

// -------------------------------------------------------------------- run

void model_drafter::propose(std::span<device_draft_job> jobs, model& /*target*/,
                            kernels::thread_pool& pool) {
  ++calls_;
  std::vector<run> runs;
  for (auto& job : jobs) {
    run one;
    if (plan(job, one)) runs.push_back(std::move(one));
  }
  share_out(runs);
  std::erase_if(runs,
                [&](run& one) { return one.input.empty() || !make_room(one); });
  while (!runs.empty()) {
    forward(runs, pool);
    take_drafts(runs, pool);
  }
}

void model_drafter::warm_up(kernels::thread_pool& pool) {
  open(0);
  device_draft_job job;
  job.slot = 0;
  job.anchor = 0;
  std::vector<run> runs(1);
  if (plan(job, runs.front()) && make_room(runs.front())) forward(runs, pool);
  release(0);
}

void model_drafter::forward(std::vector<run>& runs,
                            kernels::thread_pool& pool) {
  std::vector<token_id> tokens;
  std::vector<std::int32_t> positions;
  std::vector<kernels::attention_rows> sequences;
  std::vector<std::int32_t> logits_rows;
  for (auto& one : runs) {
    const auto position = static_cast<std::int64_t>(one.state->computed.size());
    const auto rows = static_cast<std::int64_t>(one.input.size());
    sequences.push_back({one.state->blocks.data(),
                         static_cast<std::int64_t>(tokens.size()), rows,
                         position});
    for (std::int64_t i = 0; i < rows; ++i) {
      positions.push_back(static_cast<std::int32_t>(position + i));
    }
    tokens.insert(tokens.end(), one.input.begin(), one.input.end());
    one.missing -= rows;
    if (one.missing == 0) {
      logits_rows.push_back(static_cast<std::int32_t>(tokens.size()) - 1);
    }
  }
  const auto vocabulary =
      static_cast<std::size_t>(weights_->config().vocab_size);
  if (logits_.size() < logits_rows.size() * vocabulary) {
    logits_.resize(logits_rows.size() * vocabulary);
  }
  weights_->forward({tokens, positions, sequences, logits_rows}, kv_.memory(),
                    logits_.data(), pool);
  for (auto& one : runs) {
    auto& computed = one.state->computed;
    computed.insert(computed.end(), one.input.begin(), one.input.end());
  }
}

void model_drafter::take_drafts(std::vector<run>& runs,
                                kernels::thread_pool& pool) {
  // Those that are still reading the prompt have no logits, and are done here.
  std::erase_if(runs, [](const run& one) { return one.missing > 0; });
  const auto vocabulary =
      static_cast<std::size_t>(weights_->config().vocab_size);
  std::vector<row_draft> rows(runs.size());
  pool.parallel_for(
      static_cast<std::int64_t>(runs.size()), [&](std::int64_t i) {
        const auto row = static_cast<std::size_t>(i);
        rows[row] = draft_from({logits_.data() + row * vocabulary, vocabulary},
                               *runs[row].job, runs[row].state->computed);
      });
  for (std::size_t i = 0; i < runs.size(); ++i) {
    auto& one = runs[i];
    auto& result = one.job->result;
    if (!rows[i].problem.empty()) {
      one.job->problem = "draft " + std::to_string(result.tokens.size()) +
                         ": " + rows[i].problem;
      result = {};
      one.drafts = 0;
      continue;
    }
    if (result.tokens.empty()) result.evidence = evidence_of(rows[i].margin);
    result.tokens.push_back(rows[i].token);
    one.input = {rows[i].token};
    one.missing = 1;
    if (static_cast<int>(result.tokens.size()) == one.drafts) one.drafts = 0;
  }
  std::erase_if(runs, [](const run& one) { return one.drafts == 0; });
}

}  // namespace vouch::engine
