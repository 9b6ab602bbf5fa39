#include "engine/gate/snapshot.hpp"

namespace vouch::engine {

std::string_view name_of(audit_kind kind) {
  constexpr std::array<std::string_view, audit_kinds> names{"prefill", "cached",
                                                            "classic", "burst"};
  return names.at(static_cast<std::size_t>(kind));
}

std::string_view name_of(audit_result result) {
  constexpr std::array<std::string_view, audit_results> names{"equal",
                                                              "differs"};
  return names.at(static_cast<std::size_t>(result));
}

}  // namespace vouch::engine
