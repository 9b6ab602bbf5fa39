#include "engine/speculation/drafter.hpp"

#include <array>

namespace vouch::engine {

std::string_view name_of(drafter_kind kind) {
  constexpr std::array<std::string_view, 4> names{"lookup", "dflash", "model",
                                                  "scripted"};
  return names.at(static_cast<std::size_t>(kind));
}

}  // namespace vouch::engine
