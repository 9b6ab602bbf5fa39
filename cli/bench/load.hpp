#pragma once

#include <memory>
#include <vector>

#include "cli/bench/figures.hpp"
#include "engine/models/model.hpp"
#include "kernels/thread_pool.hpp"

namespace vouch::cli::bench {

/// Where the compute threads run: --threads and --cpu-list as one.
struct compute_threads {
  /// Throws engine::input_error.
  explicit compute_threads(const options& chosen);

  int count = 0;
  /// Empty: anywhere.
  std::vector<int> cpus;
};

/// The model, and its load as often as there is time for it where loads are to
/// be timed.
std::shared_ptr<engine::model> load(const options& chosen,
                                    kernels::thread_pool& pool, results& into);

}  // namespace vouch::cli::bench
