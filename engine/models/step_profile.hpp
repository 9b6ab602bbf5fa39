#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace vouch::engine {

/// The parts of a step, in the order in which a layer runs them. `norm` is with
/// the addition of the residual and, as `activation` is, with the 8-bit form of
/// what it makes; `quantize` is that form of what attention made.
enum class step_part : std::uint8_t {
  embed,
  norm,
  quantize,
  qkv,
  rope,
  kv_write,
  attention,
  output,
  gate_up,
  activation,
  down,
  head,
  pick
};

inline constexpr std::array<std::string_view, 13> step_part_names{
    "embed",  "norm",    "quantize",   "qkv",  "rope", "kv_write", "attention",
    "output", "gate_up", "activation", "down", "head", "pick"};

/// Wall seconds that each part of a step took, all layers together.
struct step_profile {
  std::array<double, step_part_names.size()> seconds{};

  double& operator[](step_part part) {
    return seconds[static_cast<std::size_t>(part)];
  }
  double operator[](step_part part) const {
    return seconds[static_cast<std::size_t>(part)];
  }
};

/// Charges the time since the lap before to a part; does nothing without a
/// profile. One reading of the clock (some 25 ns) a lap.
class step_clock {
 public:
  explicit step_clock(step_profile* profile) : profile_{profile} {
    if (profile_ != nullptr) last_ = clock::now();
  }

  void lap(step_part part) {
    if (profile_ == nullptr) return;
    const auto now = clock::now();
    (*profile_)[part] += std::chrono::duration<double>(now - last_).count();
    last_ = now;
  }

 private:
  using clock = std::chrono::steady_clock;
  step_profile* profile_;
  clock::time_point last_{};
};

}  // namespace vouch::engine
