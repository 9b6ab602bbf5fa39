#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "engine/models/dflash_weights.hpp"

namespace vouch::engine {

/// DFlash 2's grouped dynamic causal convolution around one sublayer, along the
/// rows of a block (rows before the first are zero):
///   out[t][c] = sum over j of (base[j][c] + dynamic[t][j][c / g]) * x[t -
///   j][c]
/// with the kernels of both ends projected from the sublayer's normed input.
/// Without weights everything passes through.
class dflash_convolver {
 public:
  dflash_convolver(const dflash_config& config,
                   const std::optional<dflash_convolution_weights>& weights)
      : config_{config}, weights_{weights} {}

  /// The sublayer's input from its normed rows [rows][H]; fills `dynamic` for
  /// both ends. What it returns lies in `normed` or in `out`.
  const float* before(const float* normed, std::int64_t rows,
                      std::vector<float>& dynamic, std::vector<float>& out,
                      kernels::thread_pool& pool) const;
  /// What the residual stream gets from the sublayer's output.
  const float* after(const float* projected, std::int64_t rows,
                     const std::vector<float>& dynamic,
                     std::vector<float>& out) const;

 private:
  const float* convolve(const float* x, std::int64_t rows, std::int64_t end,
                        const std::vector<float>& dynamic,
                        std::vector<float>& out) const;

  const dflash_config& config_;
  const std::optional<dflash_convolution_weights>& weights_;
};

}  // namespace vouch::engine
