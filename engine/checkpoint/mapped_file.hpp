#pragma once

#include <cstddef>
#include <filesystem>
#include <span>

namespace vouch::engine {

/// A file mapped read-only. Pages are read when touched and can be dropped by
/// the system, so a model's unused tensors cost nothing.
class mapped_file {
 public:
  /// Throws input_error when the file cannot be opened, is no regular file or
  /// is empty.
  explicit mapped_file(const std::filesystem::path& path);
  ~mapped_file();
  mapped_file(mapped_file&& other) noexcept;
  mapped_file& operator=(mapped_file&& other) noexcept;

  const std::filesystem::path& path() const { return path_; }
  std::span<const std::byte> bytes() const { return {data_, size_}; }

 private:
  std::filesystem::path path_;
  const std::byte* data_ = nullptr;
  std::size_t size_ = 0;
};

}  // namespace vouch::engine
