#pragma once

#include <cfenv>

namespace vouch::kernels {

/// Keeps the floating-point modes (rounding, flushing of subnormals, traps) at
/// their defaults while it lives: every compute thread has to round alike.
class default_float_modes {
 public:
#if defined(__x86_64__)
  default_float_modes() : saved_{__builtin_ia32_stmxcsr()} {
    if ((saved_ & control_bits) != defaults) {
      __builtin_ia32_ldmxcsr((saved_ & ~control_bits) | defaults);
    }
  }
  ~default_float_modes() {
    if ((saved_ & control_bits) != defaults) __builtin_ia32_ldmxcsr(saved_);
  }

 private:
  static constexpr unsigned control_bits = 0xFFC0;
  static constexpr unsigned defaults = 0x1F80;
  unsigned saved_;
#else
  default_float_modes() {
    std::fegetenv(&saved_);
    std::fesetenv(FE_DFL_ENV);
  }
  ~default_float_modes() { std::fesetenv(&saved_); }

 private:
  std::fenv_t saved_;
#endif
 public:
  default_float_modes(const default_float_modes&) = delete;
  default_float_modes& operator=(const default_float_modes&) = delete;
};

}  // namespace vouch::kernels
