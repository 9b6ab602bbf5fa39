#include "engine/gate/pattern_drafts.hpp"

#include <algorithm>
#include <array>

#include "engine/speculation/lookup_drafter.hpp"
#include "engine/speculation/scripted_drafter.hpp"

namespace vouch::engine {
namespace {

constexpr std::array<std::string_view, 8> pattern_names{
    "classic", "all",    "none",   "alternating",
    "mixed",   "random", "lookup", "live"};

script script_of(draft_pattern pattern) {
  switch (pattern) {
    case draft_pattern::none:
      return script::wrong;
    case draft_pattern::alternating:
      return script::alternating;
    case draft_pattern::mixed:
      return script::probable;
    case draft_pattern::random:
      return script::random;
    default:
      return script::right;
  }
}

}  // namespace

std::string_view name_of(draft_pattern pattern) {
  return pattern_names.at(static_cast<std::size_t>(pattern));
}

void find_stop(scenario_sequence& of, const probe_text& text) {
  of.stop_token = -1;
  of.stop_at = -1;
  if (!of.stops) return;
  const auto begin = text.tokens.begin() + text.prompt;
  const auto most = std::min(of.tokens, text.size() - text.prompt) - 1;
  for (auto k = most; k > 0; --k) {
    if (std::find(begin, begin + k, begin[k]) != begin + k) continue;
    const bool inside = of.width < 2 || k % of.width != 0;
    if (!inside && of.stop_at >= 0) continue;
    of.stop_token = begin[k];
    of.stop_at = k;
    if (inside) return;
  }
}

std::unique_ptr<sequence_drafter> open_pattern(
    draft_pattern pattern, const probe_text& text, token_id vocabulary,
    const std::shared_ptr<const drafter>& live, std::uint64_t seed) {
  switch (pattern) {
    case draft_pattern::classic:
      return nullptr;
    case draft_pattern::lookup:
      return lookup_drafter{lookup_options{}}.open();
    case draft_pattern::live:
      return live ? live->open() : nullptr;
    default:
      break;
  }
  scripted_options options;
  options.mode = script_of(pattern);
  options.probabilities = {0.7};
  options.seed = seed;
  options.vocabulary = vocabulary;
  // The history is the text's as long as nothing differs; what follows a
  // difference is not compared.
  options.oracle = [&text](std::span<const token_id> history) {
    return history.size() < text.tokens.size() ? text.tokens[history.size()]
                                               : token_id{-1};
  };
  return scripted_drafter::make(std::move(options)).loaded->open();
}

}  // namespace vouch::engine
