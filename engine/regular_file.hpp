#pragma once

#include <cstddef>
#include <filesystem>

namespace vouch::engine {

/// An open regular file. A pipe, a socket or a device in a file's place is
/// refused at once: reading one could wait for ever, or never end.
class regular_file {
 public:
  /// Opens for reading. Throws input_error when the file cannot be opened or
  /// is no regular file.
  explicit regular_file(const std::filesystem::path& path);
  ~regular_file();
  regular_file(const regular_file&) = delete;
  regular_file& operator=(const regular_file&) = delete;

  int descriptor() const { return descriptor_; }
  /// Bytes it had when it was opened.
  std::size_t size() const { return size_; }

 private:
  int descriptor_ = -1;
  std::size_t size_ = 0;
};

}  // namespace vouch::engine
