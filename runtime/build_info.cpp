#include "runtime/build_info.hpp"

namespace vouch::runtime {

std::string version() { return VOUCH_VERSION; }

std::string build_id() {
  const std::string commit = VOUCH_COMMIT;
  return commit.empty() ? version() : version() + "-" + commit;
}

}  // namespace vouch::runtime
