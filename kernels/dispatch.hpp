#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace vouch::kernels {

/// The instruction set the fast kernels run on in this process, as Highway
/// names it ("AVX3_DL", "AVX3", "AVX2", "NEON", ...). Part of the fingerprint:
/// equal bytes are promised within one target.
std::string active_target();

/// Every target this build holds and this machine can run, best first.
std::vector<std::string> supported_targets();

/// Restricts dispatch to `name`, one of supported_targets() ("" lifts the
/// restriction). Weights packed before the call stay valid. For tests and
/// `--kernels.target`; not while a kernel runs. False when unsupported.
bool select_target(std::string_view name);

}  // namespace vouch::kernels
