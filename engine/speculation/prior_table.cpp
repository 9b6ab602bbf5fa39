#include "engine/speculation/prior_table.hpp"

namespace vouch::engine {
namespace {

struct row {
  drafter_kind kind;
  std::string_view device;
  std::string_view weights;
  std::array<acceptance_prior::rates, evidence_classes> by_evidence;
};

constexpr std::array<acceptance_prior::rates, evidence_classes> each(
    acceptance_prior::rates same) {
  return {same, same, same, same};
}

constexpr std::array<acceptance_prior::rates, evidence_classes> by_margin(
    double first, double later) {
  return {{{first - 0.25, later - 0.10},
           {first - 0.05, later},
           {first + 0.10, later + 0.05},
           {first + 0.20, later + 0.10}}};
}

/// Guesses of the right size, no more: what runs replaces them within a few
/// rounds. Lookup: between prose (0.56 of first drafts) and copying (0.97),
/// the longer the match the nearer to copying. Quantised targets agree a little
/// less with a drafter that was trained beside the unquantised one. Of drafters
/// that run a model the evidence is the first draft's margin over the second
/// choice: the surer the drafter, the oftener the target agrees.
constexpr std::array table{
    row{drafter_kind::lookup,
        "*",
        "*",
        {{{0.40, 0.60}, {0.50, 0.65}, {0.65, 0.75}, {0.90, 0.92}}}},
    row{drafter_kind::dflash, "*", "q4_0", by_margin(0.70, 0.72)},
    row{drafter_kind::dflash, "*", "q4_1", by_margin(0.70, 0.72)},
    row{drafter_kind::dflash, "*", "*", by_margin(0.75, 0.77)},
    row{drafter_kind::model, "*", "*", by_margin(0.70, 0.75)},
    row{drafter_kind::scripted, "*", "*", each({0.60, 0.60})},
};

bool fits(std::string_view pattern, std::string_view name) {
  return pattern == "*" || pattern == name;
}

}  // namespace

acceptance_prior find_prior(drafter_kind kind, std::string_view device,
                            std::string_view weights) {
  const row* best = nullptr;
  int most = -1;
  for (const auto& candidate : table) {
    if (candidate.kind != kind || !fits(candidate.device, device) ||
        !fits(candidate.weights, weights)) {
      continue;
    }
    const int particular =
        (candidate.device != "*" ? 2 : 0) + (candidate.weights != "*" ? 1 : 0);
    if (particular > most) {
      most = particular;
      best = &candidate;
    }
  }
  acceptance_prior out;
  if (best != nullptr) {
    out.by_evidence = best->by_evidence;
    out.source = std::string{name_of(kind)} + ", " + std::string{best->device} +
                 ", " + std::string{best->weights};
  }
  return out;
}

}  // namespace vouch::engine
