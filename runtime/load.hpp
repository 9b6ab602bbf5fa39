#pragma once

#include <functional>
#include <string>

#include "kernels/plan.hpp"
#include "runtime/config.hpp"
#include "runtime/runtime.hpp"

namespace vouch::runtime {

/// Opens settings.model.path and everything that belongs to it: tokenizer,
/// chat template, weights. `progress` may throw to give the load up. Throws
/// engine::input_error.
components load_components(const config& settings,
                           const std::function<void(double)>& progress);

/// system_fingerprint: build, kernel target, the plan unless it is the default,
/// and the model's hash.
std::string make_fingerprint(const std::string& target,
                             kernels::kernel_plan plan,
                             const std::string& model_hash);

}  // namespace vouch::runtime
