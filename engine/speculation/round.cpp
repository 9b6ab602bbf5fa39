#include "engine/speculation/round.hpp"

#include <algorithm>
#include <array>
#include <stdexcept>
#include <string>

namespace vouch::engine {
namespace {

constexpr std::array<std::string_view, 6> end_names{
    "none", "stop_token", "stop_string", "budget", "context", "failed"};

}  // namespace

std::string_view name_of(round_end end) {
  return end_names.at(static_cast<std::size_t>(end));
}

std::optional<round_end> round_end_of(std::string_view name) {
  const auto at = std::find(end_names.begin(), end_names.end(), name);
  if (at == end_names.end()) return {};
  return static_cast<round_end>(at - end_names.begin());
}

int round_width(const round_bounds& bounds, const width_set& vouched) {
  if (bounds.to_emit < 1 || bounds.context_left < 1) return 0;
  // Cut to `most` before adding one, so that no budget overflows.
  const auto by_budget = std::min<std::int64_t>(bounds.to_emit, bounds.most);
  const auto widest =
      std::min({std::int64_t{bounds.most}, by_budget + 1, bounds.context_left});
  return vouched.at_most(widest);
}

std::vector<token_id> verify_input(token_id anchor,
                                   std::span<const token_id> drafts, int width,
                                   const draft_limits& limits,
                                   const width_set& vouched) {
  const auto most = static_cast<std::size_t>(std::max(width - 1, 0));
  std::size_t usable = 0;
  while (usable < std::min(most, drafts.size())) {
    const token_id draft = drafts[usable];
    if (draft < 0 || draft >= limits.vocabulary || draft == limits.mask) break;
    ++usable;
  }
  const int rows = vouched.at_most(static_cast<std::int64_t>(usable) + 1);
  std::vector<token_id> input{anchor};
  input.insert(input.end(), drafts.begin(), drafts.begin() + (rows - 1));
  return input;
}

round_outcome settle_round(std::span<const token_id> input,
                           std::span<const token_id> picks,
                           const emission_rules& rules) {
  if (input.empty() || picks.size() != input.size()) {
    throw std::invalid_argument{"round: " + std::to_string(input.size()) +
                                " rows with " + std::to_string(picks.size()) +
                                " picks"};
  }
  if (rules.to_emit < 1 || rules.context_left < 1) {
    throw std::invalid_argument{"round: nothing may be emitted"};
  }
  round_outcome out;
  const auto drafts = input.subspan(1);
  std::size_t accepted = 0;
  while (accepted < drafts.size() && picks[accepted] >= 0 &&
         drafts[accepted] == picks[accepted]) {
    ++accepted;
  }
  out.accepted = static_cast<int>(accepted);
  for (std::size_t row = 0; row <= accepted && out.end == round_end::none;
       ++row) {
    const token_id token = picks[row];
    if (token < 0) {
      out.end = round_end::failed;
      out.failed_row = static_cast<int>(row);
      break;
    }
    out.emitted.push_back(token);
    const auto count = static_cast<std::int64_t>(out.emitted.size());
    if (std::find(rules.stop_tokens.begin(), rules.stop_tokens.end(), token) !=
        rules.stop_tokens.end()) {
      out.end = round_end::stop_token;
    } else if (rules.completes_stop_string &&
               rules.completes_stop_string(token)) {
      out.end = round_end::stop_string;
    } else if (count >= rules.to_emit) {
      out.end = round_end::budget;
    } else if (count >= rules.context_left) {
      out.end = round_end::context;
    }
  }
  out.kept_rows = static_cast<int>(out.emitted.size());
  out.accepted_emitted = std::min(out.accepted, out.kept_rows);
  out.next_anchor = out.emitted.empty() ? input.front() : out.emitted.back();
  return out;
}

}  // namespace vouch::engine
