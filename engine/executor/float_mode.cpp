#include "engine/executor/float_mode.hpp"

#include <cstdint>

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

}  // namespace vouch::engine
