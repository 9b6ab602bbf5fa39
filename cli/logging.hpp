#pragma once

#include <string>

namespace vouch::cli {

/// Sets up the process's log on standard error. `format` is text, json or auto
/// (text on a terminal).
void set_up_logging(const std::string& level, const std::string& format);

}  // namespace vouch::cli
