#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "engine/checkpoint/mapped_file.hpp"

namespace vouch::engine {

/// A tensor of a safetensors file; `dtype` is the format's own name ("BF16").
struct safetensors_tensor {
  std::string name;
  std::string dtype;
  /// Outermost first; empty for a scalar.
  std::vector<std::int64_t> shape;
  const std::byte* data = nullptr;
  std::size_t bytes = 0;
  /// Absolute byte offset in the file.
  std::size_t file_offset = 0;
};

/// One safetensors file, mapped and validated whole: the header's length and
/// JSON, every tensor's type, shape and size, and that the tensors tile the
/// data without holes or overlaps up to the end of the file.
class safetensors_file {
 public:
  /// Throws input_error naming file, tensor and offset.
  explicit safetensors_file(const std::filesystem::path& path);

  const std::filesystem::path& path() const { return file_.path(); }
  /// In the order of their offsets.
  const std::vector<safetensors_tensor>& tensors() const { return tensors_; }
  const mapped_file& file() const { return file_; }
  /// Bytes before the data: the length field and the JSON header.
  std::size_t header_bytes() const { return header_bytes_; }

 private:
  mapped_file file_;
  std::vector<safetensors_tensor> tensors_;
  std::size_t header_bytes_ = 0;
};

}  // namespace vouch::engine
