#include "engine/regular_file.hpp"

#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <string>
#include <sys/stat.h>
#include <unistd.h>

#include "engine/error.hpp"

namespace vouch::engine {

regular_file::regular_file(const std::filesystem::path& path) {
  const auto name = path.string();
  const auto fail = [&](const std::string& what) {
    if (descriptor_ >= 0) ::close(descriptor_);
    throw input_error{name, what};
  };
  // Without O_NONBLOCK the open itself waits for a pipe's writer.
  descriptor_ = ::open(name.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (descriptor_ < 0) {
    // What opening a socket gives.
    fail(errno == ENXIO
             ? "is not a regular file"
             : std::string{"cannot be opened: "} + std::strerror(errno));
  }
  struct stat status = {};
  if (::fstat(descriptor_, &status) != 0) {
    fail(std::string{"cannot be read: "} + std::strerror(errno));
  }
  if (S_ISDIR(status.st_mode)) fail("is a directory, not a file");
  if (!S_ISREG(status.st_mode)) fail("is not a regular file");
  size_ = static_cast<std::size_t>(status.st_size);
}

regular_file::~regular_file() { ::close(descriptor_); }

}  // namespace vouch::engine
