#pragma once

#include <cstddef>
#include <memory>

namespace vouch::kernels {

/// Memory for weights, which are read end to end in every step: aligned to 64
/// bytes, and cut from regions of huge pages where the system has them, so that
/// the small matrices of a small model lie on them too. Not touched yet (the
/// first thread to write decides where a page lies). A region goes back when
/// the last piece of it does. Throws std::bad_alloc.
std::shared_ptr<std::byte> allocate_weights(std::size_t bytes);

}  // namespace vouch::kernels
