#pragma once

#include <string>

namespace vouch::cli {

/// "vouch 0.1.0 (AVX3_DL)": the build and what the kernels run on here.
std::string version_text();

}  // namespace vouch::cli
