#include "kernels/cores.hpp"

#include <algorithm>
#include <cmath>
#include <fstream>
#include <sched.h>
#include <string>
#include <thread>

namespace vouch::kernels {

namespace {

int cores_by_affinity() {
  cpu_set_t set;
  if (::sched_getaffinity(0, sizeof set, &set) == 0) {
    return CPU_COUNT(&set);
  }
  return static_cast<int>(std::thread::hardware_concurrency());
}

/// "max 100000" or "200000 100000": microseconds of CPU per period.
int cores_by_quota(int otherwise) {
  std::ifstream file{"/sys/fs/cgroup/cpu.max"};
  std::string quota;
  double period = 0.0;
  if (!(file >> quota >> period) || quota == "max" || period <= 0.0) {
    return otherwise;
  }
  const double share = std::strtod(quota.c_str(), nullptr) / period;
  return share > 0.0 ? static_cast<int>(std::ceil(share)) : otherwise;
}

}  // namespace

int available_cores() {
  const int cores = std::max(cores_by_affinity(), 1);
  return std::clamp(cores_by_quota(cores), 1, cores);
}

}  // namespace vouch::kernels
