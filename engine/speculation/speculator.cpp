#include "engine/speculation/speculator.hpp"

#include <algorithm>
#include <cstddef>
#include <utility>

namespace vouch::engine {

speculator::speculator(speculator_options options)
    : options_{options}, controller_{std::move(options.controller)} {}

std::vector<draft_ask> speculator::ask(std::span<const draft_wish> wishes,
                                       const width_set& vouched,
                                       const step_load& load) {
  requests_.clear();
  choices_.clear();
  vouched_ = vouched;
  load_ = load;
  std::vector<draft_ask> asks;
  for (const auto& wish : wishes) {
    const int most = std::min(wish.most, options_.width);
    if (most < 2) continue;
    requests_.push_back({wish.id, most, std::nullopt, 0});
    asks.push_back({wish.id, wish.slot, most});
  }
  if (options_.is_free || options_.fixed || requests_.empty()) return asks;
  // Drafting costs time, so the widths are chosen first.
  choices_ = controller_.choose(requests_, vouched_, load_);
  std::vector<draft_ask> worth;
  for (std::size_t i = 0; i < asks.size(); ++i) {
    if (choices_[i].draft_width < 2) continue;
    asks[i].width = choices_[i].draft_width;
    worth.push_back(asks[i]);
  }
  return worth;
}

std::vector<draft_answer> speculator::decide(
    std::vector<draft_answer> proposals) {
  std::unordered_map<sequence_id, draft> drafted;
  for (auto& answer : proposals) {
    drafted[answer.id] = std::move(answer.proposal);
  }
  for (auto& request : requests_) {
    const draft& proposal = drafted[request.id];
    request.evidence = proposal.evidence;
    if (options_.is_free) {
      request.drafted = static_cast<int>(proposal.tokens.size());
    }
  }
  if (options_.is_free && !options_.fixed) {
    choices_ = controller_.choose(requests_, vouched_, load_);
  }
  for (const auto& choice : choices_) {
    if (choice.source != width_source::none) decided_by_ = choice.source;
  }
  unprofitable_.clear();
  std::vector<draft_answer> offers;
  for (std::size_t i = 0; i < requests_.size(); ++i) {
    const auto id = requests_[i].id;
    draft& proposal = drafted[id];
    if (proposal.tokens.empty()) continue;
    const int width = options_.fixed ? requests_[i].most : choices_[i].width;
    if (width < 2) {
      unprofitable_.push_back(id);
    } else {
      const auto drafts =
          std::min(proposal.tokens.size(), static_cast<std::size_t>(width) - 1);
      const auto begin = proposal.tokens.begin();
      offers.push_back({id,
                        {{begin, begin + static_cast<std::ptrdiff_t>(drafts)},
                         proposal.evidence}});
    }
    proposed_[id] = std::move(proposal);
  }
  return offers;
}

void speculator::note(std::vector<draft_answer> proposals) {
  for (auto& answer : proposals) {
    if (answer.proposal.tokens.empty()) continue;
    proposed_[answer.id] = std::move(answer.proposal);
  }
}

void speculator::observe(sequence_id id, const round_report& round) {
  const auto& emitted = round.outcome.emitted;
  const auto found = proposed_.find(id);
  const draft none;
  const draft& proposal = found == proposed_.end() ? none : found->second;
  const bool right = !proposal.tokens.empty() && !emitted.empty() &&
                     proposal.tokens.front() == emitted.front();
  if (right || !round.drafts.empty()) {
    doubtful_.erase(id);
  } else {
    doubtful_.insert(id);
  }
  controller_.observe(id, proposal, emitted);
  if (found != proposed_.end()) proposed_.erase(found);
}

void speculator::forget(sequence_id id) {
  controller_.forget(id);
  proposed_.erase(id);
  doubtful_.erase(id);
}

}  // namespace vouch::engine
