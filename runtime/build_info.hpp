#pragma once

#include <string>

namespace vouch::runtime {

/// "0.1.0".
std::string version();

/// The version with the commit it was configured from where there is one:
/// "0.1.0-1a2b3c4" ("-dirty" behind it for a changed tree).
std::string build_id();

}  // namespace vouch::runtime
