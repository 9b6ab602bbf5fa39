#pragma once

#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "engine/checkpoint/safetensors.hpp"
#include "kernels/dtype.hpp"

namespace vouch::engine {

/// The safetensors files of a folder, and which of a file's tensors count.
struct weight_files {
  std::vector<safetensors_file> files;
  /// Tensor -> file name; empty when there is no index.
  std::map<std::string, std::string> map;

  /// False for a tensor that the index assigns to another file, or to none.
  bool lists(const safetensors_file& file,
             const safetensors_tensor& tensor) const;

  /// Identifies `folder`'s config.json and these files by their content, as
  /// content_hash does. Throws input_error.
  std::string fingerprint(const std::filesystem::path& folder) const;
};

/// model.safetensors, or the shards that model.safetensors.index.json names.
/// Throws input_error.
weight_files open_weights(const std::filesystem::path& folder);

/// The kernels' type for safetensors' name of it ("BF16"), if there is one.
std::optional<kernels::dtype> kernel_type(const std::string& name);

}  // namespace vouch::engine
