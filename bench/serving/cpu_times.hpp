#pragma once

#include <map>
#include <string>

namespace vouch::bench {

/// CPU seconds of this process's threads so far, by thread name.
std::map<std::string, double> cpu_seconds_by_thread();

}  // namespace vouch::bench
