#pragma once

#include <cstdint>

namespace vouch::kernels {

/// log(sum over i of exp(logits[i])) in float32, in one fixed order: the
/// normaliser of a row's log-probabilities, logit - log_sum_exp. Minus
/// infinities are allowed; a NaN gives a NaN.
float log_sum_exp(const float* logits, std::int64_t n);

/// Index of the largest value, the lowest on ties; -1 when any value is NaN or
/// n is 0.
std::int64_t argmax(const float* values, std::int64_t n);

namespace reference {
float log_sum_exp(const float* logits, std::int64_t n);
std::int64_t argmax(const float* values, std::int64_t n);
}  // namespace reference

}  // namespace vouch::kernels
