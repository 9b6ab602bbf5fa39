#include "engine/speculation/decline.hpp"

#include <algorithm>
#include <array>

namespace vouch::engine {
namespace {

constexpr std::array<std::string_view, decline_reasons> names{
    "no_drafter",   "drafter_mismatch", "gate_diverges",
    "gate_not_run", "gate_tripped",     "request_opt_out",
    "load",         "unprofitable",     "unsupported_sampling"};

}  // namespace

std::string_view name_of(decline_reason reason) {
  return names.at(static_cast<std::size_t>(reason));
}

std::optional<decline_reason> decline_reason_of(std::string_view name) {
  const auto at = std::find(names.begin(), names.end(), name);
  if (at == names.end()) return {};
  return static_cast<decline_reason>(at - names.begin());
}

}  // namespace vouch::engine
