#include "kernels/dispatch.hpp"

namespace vouch::kernels {

std::string active_target() { return "SCALAR"; }

std::vector<std::string> supported_targets() { return {"SCALAR"}; }

bool select_target(std::string_view name) {
  return name.empty() || name == "SCALAR";
}

}  // namespace vouch::kernels
