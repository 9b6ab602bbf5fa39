#include "runtime/compute_cpus.hpp"

#include <algorithm>
#include <stdexcept>

#include "engine/error.hpp"
#include "kernels/cores.hpp"

namespace vouch::runtime {

namespace {

/// As they were when first asked for: keep_off narrows a thread's own later.
const std::vector<int>& process_cpus() {
  static const std::vector<int> cpus = kernels::allowed_cpus();
  return cpus;
}

}  // namespace

std::vector<int> compute_cpus(const std::string& list, int threads,
                              const std::string& origin) {
  const auto& allowed = process_cpus();
  if (list.empty()) return {};
  std::vector<int> cpus;
  try {
    cpus = kernels::parse_cpu_list(list, allowed);
  } catch (const std::invalid_argument& error) {
    throw engine::input_error(origin, error.what());
  }
  const auto wanted =
      threads > 0 ? static_cast<std::size_t>(threads) : cpus.size();
  if (wanted > cpus.size()) {
    throw engine::input_error(
        origin, "'" + list + "': " + std::to_string(cpus.size()) +
                    (cpus.size() == 1 ? " CPU" : " CPUs") + " for " +
                    std::to_string(wanted) + " compute threads");
  }
  cpus.resize(wanted);
  return cpus;
}

void keep_off(const std::vector<int>& cpus) {
  if (cpus.empty()) return;
  std::vector<int> others;
  for (const int cpu : process_cpus()) {
    if (std::find(cpus.begin(), cpus.end(), cpu) == cpus.end()) {
      others.push_back(cpu);
    }
  }
  if (!others.empty()) kernels::pin_this_thread(others);
}

}  // namespace vouch::runtime
