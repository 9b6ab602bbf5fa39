#include "cli/bench/load.hpp"

#include <chrono>

#include "cli/progress_bar.hpp"
#include "engine/checkpoint/checkpoint.hpp"
#include "kernels/cores.hpp"
#include "runtime/compute_cpus.hpp"

namespace vouch::cli::bench {

namespace {

using clock_type = std::chrono::steady_clock;

/// No further load begins after this long.
constexpr double load_seconds = 10.0;

double seconds_since(clock_type::time_point begin) {
  return std::chrono::duration<double>(clock_type::now() - begin).count();
}

}  // namespace

compute_threads::compute_threads(const options& chosen)
    : cpus{runtime::compute_cpus(chosen.cpu_list, chosen.threads,
                                 "--cpu-list")} {
  count = chosen.threads > 0 ? chosen.threads
          : cpus.empty()     ? kernels::available_cores()
                             : static_cast<int>(cpus.size());
}

std::shared_ptr<engine::model> load(const options& chosen,
                                    kernels::thread_pool& pool, results& into) {
  progress_bar bar{"Loading " + file_name(chosen.model)};
  std::vector<double> seconds;
  std::shared_ptr<engine::model> model;
  const int loads = chosen.wants(part::load) ? chosen.repeat : 1;
  const auto start = clock_type::now();
  for (int i = 0; i < loads && (i == 0 || seconds_since(start) < load_seconds);
       ++i) {
    model.reset();
    const auto begin = clock_type::now();
    model = engine::load_model(
        *engine::open_checkpoint(chosen.model), pool,
        [&](double share) { bar.show((i + share) / loads); });
    seconds.push_back(seconds_since(begin));
  }
  if (chosen.wants(part::load)) into.load_seconds = spread_of(seconds);
  return model;
}

}  // namespace vouch::cli::bench
