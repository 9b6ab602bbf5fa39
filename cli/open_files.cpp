#include "cli/open_files.hpp"

#include <algorithm>
#include <sys/resource.h>

namespace vouch::cli {

namespace {

/// Model files, event queues, standard streams, and the connections that are
/// open for a moment to be told that there are too many.
constexpr rlim_t own_files = 128;

}  // namespace

std::int64_t make_room_for_connections(std::int64_t connections) {
  const auto wanted = static_cast<rlim_t>(connections) + own_files;
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return connections;
  if (limit.rlim_cur < wanted && limit.rlim_cur < limit.rlim_max) {
    const auto before = limit.rlim_cur;
    limit.rlim_cur = std::min(wanted, limit.rlim_max);
    if (::setrlimit(RLIMIT_NOFILE, &limit) != 0) limit.rlim_cur = before;
  }
  const auto room = limit.rlim_cur - std::min(limit.rlim_cur, own_files);
  return static_cast<std::int64_t>(
      std::min(room, static_cast<rlim_t>(connections)));
}

}  // namespace vouch::cli
