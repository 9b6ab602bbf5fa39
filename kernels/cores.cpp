#include "kernels/cores.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <fstream>
#include <new>
#include <pthread.h>
#include <sched.h>
#include <sstream>
#include <stdexcept>
#include <system_error>

namespace vouch::kernels {

namespace {

/// A mask of as many CPUs as the system asks for (cpu_set_t ends at 1024).
class cpu_mask {
 public:
  explicit cpu_mask(int cpus)
      : size_{CPU_ALLOC_SIZE(cpus)}, set_{CPU_ALLOC(cpus)} {
    if (set_ == nullptr) throw std::bad_alloc{};
    CPU_ZERO_S(size_, set_);
  }
  ~cpu_mask() { CPU_FREE(set_); }
  cpu_mask(const cpu_mask&) = delete;
  cpu_mask& operator=(const cpu_mask&) = delete;

  std::size_t size() const { return size_; }
  cpu_set_t* get() { return set_; }

 private:
  std::size_t size_;
  cpu_set_t* set_;
};

constexpr int most_cpus = 1 << 14;

void set_affinity(pthread_t thread, const std::vector<int>& cpus) {
  cpu_mask mask{most_cpus};
  std::string names;
  for (const int cpu : cpus) {
    if (cpu >= 0 && cpu < most_cpus) CPU_SET_S(cpu, mask.size(), mask.get());
    if (!names.empty()) names += ',';
    names += std::to_string(cpu);
  }
  const int failed = pthread_setaffinity_np(thread, mask.size(), mask.get());
  if (failed != 0) {
    throw std::system_error{failed, std::system_category(),
                            "cannot run a thread on CPU " + names};
  }
}

[[noreturn]] void refuse(std::string_view entry, const std::string& why) {
  std::ostringstream out;
  out << '\'' << entry << "': " << why;
  throw std::invalid_argument{out.str()};
}

/// A number with nothing around it.
int parse_cpu(std::string_view text, std::string_view entry) {
  int cpu = -1;
  const auto [end, error] =
      std::from_chars(text.data(), text.data() + text.size(), cpu);
  if (text.empty() || error != std::errc{} ||
      end != text.data() + text.size() || cpu < 0) {
    refuse(entry, "expected a CPU's number or a range such as 0-3");
  }
  return cpu;
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
  const auto cores = static_cast<int>(allowed_cpus().size());
  return std::clamp(cores_by_quota(cores), 1, cores);
}

std::vector<int> allowed_cpus() {
  cpu_mask mask{most_cpus};
  std::vector<int> cpus;
  if (::sched_getaffinity(0, mask.size(), mask.get()) == 0) {
    for (int cpu = 0; cpu < most_cpus; ++cpu) {
      if (CPU_ISSET_S(cpu, mask.size(), mask.get())) cpus.push_back(cpu);
    }
  }
  const auto count = std::max(std::thread::hardware_concurrency(), 1U);
  for (unsigned cpu = 0; cpus.empty() && cpu < count; ++cpu) {
    cpus.push_back(static_cast<int>(cpu));
  }
  return cpus;
}

std::string cpu_list_text(const std::vector<int>& cpus) {
  std::ostringstream out;
  for (std::size_t i = 0; i < cpus.size(); ++i) {
    std::size_t last = i;
    while (last + 1 < cpus.size() && cpus[last + 1] == cpus[last] + 1) ++last;
    if (i > 0) out << ',';
    out << cpus[i];
    if (last > i) out << '-' << cpus[last];
    i = last;
  }
  return out.str();
}

std::vector<int> parse_cpu_list(std::string_view text,
                                const std::vector<int>& allowed) {
  std::vector<int> cpus;
  for (bool more = true; more;) {
    const auto comma = text.find(',');
    const auto entry = text.substr(0, comma);
    more = comma != std::string_view::npos;
    text = more ? text.substr(comma + 1) : std::string_view{};
    const auto dash = entry.find('-');
    const int first = parse_cpu(entry.substr(0, dash), entry);
    const int last = dash == std::string_view::npos
                         ? first
                         : parse_cpu(entry.substr(dash + 1), entry);
    if (last < first) refuse(entry, "the range runs backwards");
    for (int cpu = first; cpu <= last; ++cpu) {
      const auto name = "CPU " + std::to_string(cpu);
      if (std::find(allowed.begin(), allowed.end(), cpu) == allowed.end()) {
        refuse(entry, name + " is not one this process may use (" +
                          cpu_list_text(allowed) + ")");
      }
      if (std::find(cpus.begin(), cpus.end(), cpu) != cpus.end()) {
        refuse(entry, name + " is named twice");
      }
      cpus.push_back(cpu);
    }
  }
  return cpus;
}

void pin_thread(std::thread& thread, int cpu) {
  set_affinity(thread.native_handle(), {cpu});
}

void pin_this_thread(const std::vector<int>& cpus) {
  set_affinity(pthread_self(), cpus);
}

scoped_pin::scoped_pin(int cpu) {
  if (cpu < 0) return;
  before_ = allowed_cpus();
  pin_this_thread({cpu});
}

scoped_pin::~scoped_pin() {
  try {
    if (!before_.empty()) pin_this_thread(before_);
  } catch (const std::system_error&) {
    // A CPU went away meanwhile; the thread stays where it is.
  }
}

}  // namespace vouch::kernels
