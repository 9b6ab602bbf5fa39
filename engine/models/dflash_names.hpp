#pragma once

#include <string>
#include <string_view>

namespace vouch::engine {

/// A drafter's tensor names, from those of a safetensors file (with or without
/// "model.", vendors' aliases resolved) and from those of a GGUF file. Names
/// that are not known stay as they are; empty: a tensor that the configuration
/// makes superfluous.
std::string dflash_name(std::string_view safetensors);
std::string dflash_name_of_gguf(std::string_view gguf);

}  // namespace vouch::engine
