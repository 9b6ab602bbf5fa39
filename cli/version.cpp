#include "cli/version.hpp"

#include "kernels/dispatch.hpp"

namespace vouch::cli {

std::string version_text() {
  return std::string{"vouch "} + VOUCH_VERSION + " (" +
         kernels::active_target() + ")";
}

}  // namespace vouch::cli
