#include "kernels/thread_pool.hpp"

#include <algorithm>
#include <exception>
#include <stdexcept>
#include <string>

#include "kernels/float_modes.hpp"
#include "kernels/pool_threads.hpp"

namespace vouch::kernels {

struct thread_pool::state : pool_threads<free_running> {
  using pool_threads::pool_threads;
};

thread_pool::thread_pool(int threads, const std::vector<int>& cpus) {
  threads = std::max(threads, 1);
  if (threads > state::most_threads) {
    throw std::invalid_argument{"thread_pool: too many threads"};
  }
  if (!cpus.empty() && cpus.size() != static_cast<std::size_t>(threads)) {
    throw std::invalid_argument{"thread_pool: " + std::to_string(threads) +
                                " threads, " + std::to_string(cpus.size()) +
                                " CPUs"};
  }
  state_ = std::make_unique<state>(threads, cpus);
}

thread_pool::~thread_pool() = default;

int thread_pool::size() const { return state_->size(); }

namespace {

using task = pool_members<free_running>::task;

/// As with threads: every index runs, the first exception comes out.
void run_alone(std::int64_t count, task body, void* context, bool fixed) {
  std::exception_ptr error;
  const std::int64_t step = fixed ? count : 1;
  for (std::int64_t i = 0; i < count; i += step) {
    try {
      body(context, i, i + step, 0);
    } catch (...) {
      if (!error) error = std::current_exception();
    }
  }
  if (error) std::rethrow_exception(error);
}

}  // namespace

void thread_pool::run(std::int64_t count, task body, void* context,
                      bool fixed) {
  if (count > pool_members<free_running>::most_indices) {
    throw std::invalid_argument{"thread_pool: too many indices"};
  }
  const default_float_modes modes;
  if (state_->size() == 1 || count <= 1) {
    run_alone(count, body, context, fixed);
  } else {
    state_->run(count, body, context, fixed);
  }
}

}  // namespace vouch::kernels
