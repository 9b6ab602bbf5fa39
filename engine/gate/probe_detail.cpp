// How many bytes of a row differ: the row once more as it ran, and classically.
#include <algorithm>
#include <utility>

#include "engine/gate/probe.hpp"

namespace vouch::engine {

void probe::begin_detail(const row_mismatch& at) {
  const bool known = at.what == "logits" || at.what == "kv";
  again_ = run_->last();
  if (!options_.read_rows || !known || again_.work.items.empty()) {
    releasing_ = true;
    return;
  }
  // Its slots are open and hold what came before.
  again_.released.clear();
  again_.opened.clear();
  again_.histories.clear();
  detail_ = detail::again;
}

std::optional<gate_unit> probe::next_detail() {
  if (detail_ == detail::classic) return classic_->next();
  gate_unit unit;
  unit.work = again_;
  for (std::size_t i = 0; i < again_.work.items.size(); ++i) {
    if (again_.sequences[i] != first_->sequence + 1) continue;
    const auto& item = again_.work.items[i];
    row_read read{item.slot, static_cast<std::int32_t>(first_->position), {}};
    if (first_->what == "kv") read.blocks = item.blocks;
    unit.reads.push_back(std::move(read));
  }
  return unit;
}

void probe::take_detail(const gate_unit_result& result) {
  if (detail_ == detail::again) {
    const auto& text =
        plan_.texts[task().played.sequences[first_->sequence].text];
    replay_request what;
    what.tokens.assign(text.tokens.begin(),
                       text.tokens.begin() + first_->position + 1);
    what.first = first_->position;
    what.sampling = text.sampling;
    what.prompt_tokens = text.prompt;
    what.chunk = options_.setup.rules.prefill.chunk_tokens;
    what.read_position = first_->position;
    what.read_kv = first_->what == "kv";
    const auto lent = static_cast<std::int64_t>(map_.lent().blocks.size());
    if (result.reads.empty() || result.reads[0].empty() ||
        replay::need(what).blocks > lent) {
      return end_detail();
    }
    here_ = result.reads[0];
    classic_.emplace(std::move(what), map_);
    detail_ = detail::classic;
    return;
  }
  classic_->take(result);
  if (classic_->done()) end_detail();
}

void probe::end_detail() {
  detail_ = detail::none;
  releasing_ = true;
  if (!classic_ || classic_->read().size() != here_.size()) return;
  const auto& classic = classic_->read();
  auto& first = key_of(*first_) == key_alone ? verdicts_.alone.first
                : key_of(*first_) == key_batch
                    ? verdicts_.batch.first
                    : verdicts_.widths[key_of(*first_)].first;
  if (!first) return;
  first->total_bytes = static_cast<std::int64_t>(here_.size());
  first->differing_bytes = 0;
  for (std::size_t i = 0; i < here_.size(); ++i) {
    if (here_[i] != classic[i]) ++first->differing_bytes;
  }
  classic_.reset();
}

}  // namespace vouch::engine
