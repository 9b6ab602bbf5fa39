#pragma once

namespace vouch::engine {

/// Sets this thread's floating-point control word to IEEE 754's defaults: round
/// to nearest, denormals kept, no traps. A thread inherits whatever its creator
/// had set, and a host application may have set anything; bytes must not
/// depend on it. The threads of a pool set their own (`kernels::thread_pool`).
void set_float_mode();

}  // namespace vouch::engine
