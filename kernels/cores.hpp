#pragma once

namespace vouch::kernels {

/// Cores this process may use: its affinity mask, and a container's CPU quota
/// (cgroup v2, rounded up) where there is one. At least 1.
int available_cores();

}  // namespace vouch::kernels
