#pragma once

#include <memory>

#include "engine/checkpoint/checkpoint.hpp"

namespace vouch::engine {

/// The same checkpoint with every tensor expanded to float32 in memory (four
/// bytes a weight): a model built from it computes with the values that the
/// stored blocks stand for and rounds no activation to 8 bits. The reference
/// that quantised models are measured against.
std::shared_ptr<checkpoint> dequantize(
    std::shared_ptr<const checkpoint> source);

}  // namespace vouch::engine
