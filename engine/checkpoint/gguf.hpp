#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "engine/checkpoint/mapped_file.hpp"
#include "kernels/dtype.hpp"

namespace vouch::engine {

/// The value types of GGUF metadata, numbered as in the file.
enum class gguf_type : std::uint32_t {
  u8,
  i8,
  u16,
  i16,
  u32,
  i32,
  f32,
  boolean,
  string,
  array,
  u64,
  i64,
  f64,
};

/// A metadata value where it lies in the mapped file; bounds were checked when
/// the file was opened.
struct gguf_value {
  /// For an array the type of its elements.
  gguf_type type = gguf_type::u8;
  bool is_array = false;
  /// 1 for a scalar.
  std::uint64_t count = 1;
  const std::byte* data = nullptr;
};

/// What GGUF calls a tensor's type: its number in the file, its name, block
/// geometry, and the kernels' type when they compute with it.
struct gguf_tensor_type {
  std::uint32_t id;
  std::string_view name;
  std::uint32_t block_elements;
  std::uint32_t block_bytes;
  std::optional<kernels::dtype> kernel_type;
};

struct gguf_tensor {
  std::string_view name;
  const gguf_tensor_type* type = nullptr;
  /// Innermost (contiguous) dimension first, as the file has it; 1 to 4.
  std::vector<std::int64_t> dimensions;
  const std::byte* data = nullptr;
  std::size_t bytes = 0;
  /// Absolute byte offset of the data in its file.
  std::size_t file_offset = 0;
  /// Which part of a split model holds it; 0 in a single file.
  std::size_t part = 0;
};

/// A GGUF file of version 2 or 3, mapped and validated whole: header,
/// metadata, tensor list, and that every tensor lies inside the file and
/// overlaps no other. A model split into `name-0000N-of-0000M.gguf` is opened
/// by the name of any part; metadata is the first part's. Strings and data
/// point into the mapping and live as long as this object (moves keep them).
///
/// Getters answer nothing (or an empty vector) when the key is absent, and
/// throw input_error naming file and key when it holds another kind of value.
class gguf_file {
 public:
  /// Throws input_error naming file, byte offset, key or tensor.
  static gguf_file open(const std::filesystem::path& path);

  /// The path it was opened by.
  const std::filesystem::path& path() const { return path_; }
  bool has(std::string_view key) const;

  /// Any integer type.
  std::optional<std::int64_t> integer(std::string_view key) const;
  /// Any floating-point or integer type.
  std::optional<double> number(std::string_view key) const;
  std::optional<bool> boolean(std::string_view key) const;
  std::optional<std::string_view> string(std::string_view key) const;
  std::vector<std::string_view> strings(std::string_view key) const;
  /// Arrays of any integer type or of booleans.
  std::vector<std::int64_t> integers(std::string_view key) const;
  /// Arrays of any floating-point or integer type.
  std::vector<double> numbers(std::string_view key) const;

  /// Like string, integer: throw input_error when the key is absent.
  std::string_view require_string(std::string_view key) const;
  std::int64_t require_integer(std::string_view key) const;

  /// Every key with its value, sorted; for inspection.
  const std::map<std::string_view, gguf_value>& metadata() const {
    return metadata_;
  }
  /// In file order, part after part.
  const std::vector<gguf_tensor>& tensors() const { return tensors_; }
  /// nullptr when there is no such tensor.
  const gguf_tensor* find_tensor(std::string_view name) const;
  /// The mapped parts; one for a file that is not split.
  const std::vector<mapped_file>& parts() const { return parts_; }
  /// Identifies the parts by their content, as content_hash does: all of what
  /// stands before the first tensor, samples of the rest.
  std::string fingerprint() const;

 private:
  gguf_file() = default;
  const gguf_value* find(std::string_view key, bool array) const;
  [[noreturn]] void wrong_type(std::string_view key, const gguf_value& value,
                               std::string_view wanted) const;

  std::filesystem::path path_;
  std::vector<mapped_file> parts_;
  std::map<std::string_view, gguf_value> metadata_;
  std::vector<gguf_tensor> tensors_;
  std::map<std::string_view, std::size_t> tensor_index_;
};

/// The tensor type numbered `id`; nullptr when GGUF has no such type.
const gguf_tensor_type* find_gguf_tensor_type(std::uint32_t id);

}  // namespace vouch::engine
