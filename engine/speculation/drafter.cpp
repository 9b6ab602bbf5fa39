#include "engine/speculation/drafter.hpp"

#include <array>
#include <utility>

#include "engine/speculation/lookup_drafter.hpp"

namespace vouch::engine {

std::string_view name_of(drafter_kind kind) {
  constexpr std::array<std::string_view, 4> names{"lookup", "dflash", "model",
                                                  "scripted"};
  return names.at(static_cast<std::size_t>(kind));
}

drafter_load load_drafter(const std::string& name, token_id vocabulary) {
  const auto declines = [](decline_reason reason, std::string detail) {
    return drafter_load{{}, decline{reason, std::move(detail)}};
  };
  if (name.empty() || name == "none") {
    return declines(decline_reason::no_drafter, "none is configured");
  }
  if (name != "lookup") {
    return declines(decline_reason::drafter_mismatch,
                    "'" + name + "' is no drafter (there is 'lookup')");
  }
  if (vocabulary < 1) {
    return declines(decline_reason::drafter_mismatch,
                    "the model's vocabulary is empty");
  }
  return {std::make_shared<const lookup_drafter>(lookup_options{}), {}};
}

}  // namespace vouch::engine
