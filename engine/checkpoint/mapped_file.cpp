#include "engine/checkpoint/mapped_file.hpp"

#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include <utility>

#include "engine/error.hpp"

namespace vouch::engine {

namespace {

struct descriptor {
  int value;
  ~descriptor() {
    if (value >= 0) ::close(value);
  }
};

}  // namespace

mapped_file::mapped_file(const std::filesystem::path& path) : path_{path} {
  const auto name = path.string();
  const descriptor file{::open(name.c_str(), O_RDONLY | O_CLOEXEC)};
  if (file.value < 0) {
    throw input_error{name,
                      std::string{"cannot be opened: "} + std::strerror(errno)};
  }
  struct stat status = {};
  if (::fstat(file.value, &status) != 0) {
    throw input_error{name,
                      std::string{"cannot be read: "} + std::strerror(errno)};
  }
  if (!S_ISREG(status.st_mode)) throw input_error{name, "is not a file"};
  if (status.st_size == 0) throw input_error{name, "is empty (0 bytes)"};
  size_ = static_cast<std::size_t>(status.st_size);
  void* data = ::mmap(nullptr, size_, PROT_READ, MAP_SHARED, file.value, 0);
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
