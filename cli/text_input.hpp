#pragma once

#include <string>

namespace vouch::cli {

/// All of a file, "-" being standard input. Throws engine::input_error.
std::string read_all(const std::string& path);

/// `given` when it was given, otherwise all of standard input.
std::string given_or_stdin(const std::string& given, bool was_given);

}  // namespace vouch::cli
