#pragma once

#include <map>
#include <string_view>
#include <vector>

#include "engine/checkpoint/gguf.hpp"
#include "engine/checkpoint/mapped_file.hpp"

namespace vouch::engine {

/// One file's contents, pointing into its mapping.
struct gguf_contents {
  std::map<std::string_view, gguf_value> metadata;
  std::vector<gguf_tensor> tensors;
};

/// Parses and validates one mapped file. No count from the file is trusted:
/// every length is checked against the bytes that are left before anything is
/// allocated for it. Throws input_error.
gguf_contents parse_gguf(const mapped_file& file);

/// Bytes of one element of a scalar type; 0 for strings and arrays.
std::size_t gguf_scalar_bytes(gguf_type type);

}  // namespace vouch::engine
