#pragma once

#include <chrono>
#include <memory>

#include "engine/executor/executor.hpp"

namespace vouch::bench {

/// An executor that computes nothing: a row's pick is a letter that its
/// position chooses. What serving costs besides the model is then all there is.
/// A step ends inside submit, and takes `step_time` at least (it sleeps).
std::shared_ptr<engine::executor> make_instant_executor(
    engine::executor_limits limits, std::chrono::microseconds step_time);

}  // namespace vouch::bench
