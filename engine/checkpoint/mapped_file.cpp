#include "engine/checkpoint/mapped_file.hpp"

#include <cerrno>
#include <cstring>
#include <sys/mman.h>
#include <utility>

#include "engine/error.hpp"
#include "engine/regular_file.hpp"

namespace vouch::engine {

mapped_file::mapped_file(const std::filesystem::path& path) : path_{path} {
  const auto name = path.string();
  const regular_file file{path};
  size_ = file.size();
  if (size_ == 0) throw input_error{name, "is empty (0 bytes)"};
  void* data =
      ::mmap(nullptr, size_, PROT_READ, MAP_SHARED, file.descriptor(), 0);
  if (data == MAP_FAILED) {
    throw input_error{name,
                      std::string{"cannot be mapped: "} + std::strerror(errno)};
  }
  data_ = static_cast<const std::byte*>(data);
}

mapped_file::~mapped_file() {
  if (data_ != nullptr) {
    ::munmap(const_cast<std::byte*>(data_), size_);
  }
}

mapped_file::mapped_file(mapped_file&& other) noexcept
    : path_{std::move(other.path_)},
      data_{std::exchange(other.data_, nullptr)},
      size_{std::exchange(other.size_, 0)} {}

mapped_file& mapped_file::operator=(mapped_file&& other) noexcept {
  std::swap(path_, other.path_);
  std::swap(data_, other.data_);
  std::swap(size_, other.size_);
  return *this;
}

}  // namespace vouch::engine
