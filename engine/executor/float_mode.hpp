#pragma once

#include "kernels/thread_pool.hpp"

namespace vouch::engine {

/// Sets this thread's floating-point control word to IEEE 754's defaults: round
/// to nearest, denormals kept, no traps. A thread inherits whatever its creator
/// had set, and a host application may have set anything; bytes must not
/// depend on it.
void set_float_mode();

/// The same in every thread of `pool`, the caller's included.
void set_float_mode(kernels::thread_pool& pool);

}  // namespace vouch::engine
