#include "engine/models/dflash_convolve.hpp"

#include <algorithm>

#include "kernels/activations.hpp"

namespace vouch::engine {

const float* dflash_convolver::before(const float* normed, std::int64_t rows,
                                      std::vector<float>& dynamic,
                                      std::vector<float>& out,
                                      kernels::thread_pool& pool) const {
  if (!weights_) return normed;
  const auto& weight = weights_->projection.weight;
  dynamic.resize(static_cast<std::size_t>(rows * weight.out()));
  kernels::activations in;
  in.assign(normed, rows, weight.in(),
            kernels::wants_quantized_activations(weight.type()), pool);
  kernels::matmul(weight, in, dynamic.data(), weight.out(), pool);
  return convolve(normed, rows, 0, dynamic, out);
}

const float* dflash_convolver::after(const float* projected, std::int64_t rows,
                                     const std::vector<float>& dynamic,
                                     std::vector<float>& out) const {
  return weights_ ? convolve(projected, rows, 1, dynamic, out) : projected;
}

/// `end` is 0 before the sublayer and 1 after it; dynamic: [rows][2][k][G].
const float* dflash_convolver::convolve(const float* x, std::int64_t rows,
                                        std::int64_t end,
                                        const std::vector<float>& dynamic,
                                        std::vector<float>& out) const {
  const auto hidden = config_.shape.hidden_size;
  const std::int64_t taps = config_.convolution->kernel_size;
  const std::int64_t group = config_.convolution->group_size;
  const auto groups = hidden / group;
  out.resize(static_cast<std::size_t>(rows * hidden));
  const float* base = weights_->base.data() + end * taps * hidden;
  for (std::int64_t t = 0; t < rows; ++t) {
    float* to = out.data() + t * hidden;
    std::fill_n(to, hidden, 0.0F);
    for (std::int64_t j = 0; j < std::min(taps, t + 1); ++j) {
      const float* from = x + (t - j) * hidden;
      const float* shift = dynamic.data() + ((t * 2 + end) * taps + j) * groups;
      for (std::int64_t c = 0; c < hidden; ++c) {
        to[c] += (base[j * hidden + c] + shift[c / group]) * from[c];
      }
    }
  }
  return out.data();
}

}  // namespace vouch::engine
