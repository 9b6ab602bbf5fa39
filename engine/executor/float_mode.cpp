#include "engine/executor/float_mode.hpp"

#include <cstdint>
#include <latch>

#if defined(__SSE2__)
#include <xmmintrin.h>
#endif

namespace vouch::engine {

void set_float_mode() {
#if defined(__SSE2__)
  // All exceptions masked, round to nearest, neither flush-to-zero nor
  // denormals-are-zero.
  _mm_setcsr(0x1F80U);
#elif defined(__aarch64__)
  const std::uint64_t defaults = 0;
  __asm__ volatile("msr fpcr, %0" : : "r"(defaults));
#else
#error "set_float_mode: this architecture's control word is not known"
#endif
}

void set_float_mode(kernels::thread_pool& pool) {
  // As many bodies as threads, none of which ends before all have begun: so
  // each thread runs exactly one.
  std::latch all{pool.size()};
  pool.parallel_for(pool.size(), [&](std::int64_t) {
    set_float_mode();
    all.arrive_and_wait();
  });
}

}  // namespace vouch::engine
