#pragma once

#include <cstddef>
#include <memory>

#include "kernels/thread_pool.hpp"

namespace vouch::kernels {

/// What this machine can do at best with one pool's threads, measured: the
/// yardsticks for a step's weight reads and multiply-adds. These machines are
/// shared and vary, so measure the yardstick in the run that it judges.

/// Memory that is read end to end, laid out and touched as packed weights are.
class read_probe {
 public:
  /// Bytes that no cache of this machine holds a notable part of: eight times
  /// the last-level cache, at least 256 MiB and at most 1 GiB.
  static std::size_t enough_bytes();

  /// Rounded up to whole pieces of 1 MiB. Throws std::bad_alloc.
  read_probe(std::size_t bytes, thread_pool& pool);

  std::size_t bytes() const { return bytes_; }

  /// Reads everything a few times with all threads; bytes a second of the
  /// fastest pass.
  double measure(thread_pool& pool) const;

 private:
  std::shared_ptr<std::byte> data_;
  std::size_t bytes_;
};

/// Operations a second, two a multiply-add, of 8-bit dot products on all
/// threads with everything in registers or in the first cache, by the
/// instructions that the active target's matmul uses. The fastest of a
/// few passes of 10 to 40 ms.
double measure_dot_rate(thread_pool& pool);

}  // namespace vouch::kernels
