#pragma once

#include <string>
#include <string_view>
#include <thread>
#include <vector>

namespace vouch::kernels {

/// Cores this process may use: its affinity mask, and a container's CPU quota
/// (cgroup v2, rounded up) where there is one. At least 1.
int available_cores();

/// The CPUs the calling thread may run on, by the system's numbers, ascending.
std::vector<int> allowed_cpus();

/// CPUs as the system's tools list them: "0-3,8" is 0, 1, 2, 3, 8, in the order
/// written. Throws std::invalid_argument, which says what is wrong: an entry
/// that is no number or range, a range that runs backwards, a CPU named twice
/// or one not in `allowed`.
std::vector<int> parse_cpu_list(std::string_view text,
                                const std::vector<int>& allowed);

/// The same text the other way round: "0-3,8".
std::string cpu_list_text(const std::vector<int>& cpus);

/// From now on the thread runs on these CPUs only. Throws std::system_error.
void pin_thread(std::thread& thread, int cpu);
void pin_this_thread(const std::vector<int>& cpus);

/// Pins the calling thread to a CPU while it lives; does nothing for -1.
class scoped_pin {
 public:
  explicit scoped_pin(int cpu);
  ~scoped_pin();
  scoped_pin(const scoped_pin&) = delete;
  scoped_pin& operator=(const scoped_pin&) = delete;

 private:
  std::vector<int> before_;
};

}  // namespace vouch::kernels
