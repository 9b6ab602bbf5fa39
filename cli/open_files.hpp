#pragma once

#include <cstdint>

namespace vouch::cli {

/// Raises this process's limit of open files (RLIMIT_NOFILE), as far as the
/// system allows, to what `connections` of a server need beside the program's
/// own files. Returns how many connections fit.
std::int64_t make_room_for_connections(std::int64_t connections);

}  // namespace vouch::cli
