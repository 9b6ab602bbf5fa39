#pragma once

#include <string>
#include <vector>

namespace vouch::runtime {

/// The CPUs of the compute threads: what `list` ("0-3,8"; empty: none, they run
/// where the system puts them) names, in its order, one for each of `threads`
/// (0: for all that are listed). Throws engine::input_error, which begins with
/// `origin`, when a CPU is not one this process was given (by its affinity or
/// its control group) or when they are fewer than the threads.
std::vector<int> compute_cpus(const std::string& list, int threads,
                              const std::string& origin);

/// The calling thread, and those it starts from now on, leave `cpus` to the
/// compute threads, when the process has others. For a program's main thread,
/// before it makes its actor system.
void keep_off(const std::vector<int>& cpus);

}  // namespace vouch::runtime
