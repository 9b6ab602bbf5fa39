#include "bench/serving/cpu_times.hpp"

#include <filesystem>
#include <fstream>

namespace vouch::bench {

std::map<std::string, double> cpu_seconds_by_thread() {
  std::map<std::string, double> result;
  for (const auto& task :
       std::filesystem::directory_iterator{"/proc/self/task"}) {
    std::string name;
    double nanoseconds = 0;
    std::getline(std::ifstream{task.path() / "comm"}, name);
    // The first field: time spent on a CPU.
    std::ifstream{task.path() / "schedstat"} >> nanoseconds;
    result[name] += 1e-9 * nanoseconds;
  }
  return result;
}

}  // namespace vouch::bench
