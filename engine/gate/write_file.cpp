#include "engine/gate/write_file.hpp"

#include <cerrno>
#include <fcntl.h>
#include <system_error>
#include <unistd.h>

namespace vouch::engine {
namespace {

namespace fs = std::filesystem;

[[noreturn]] void fail(const fs::path& file, const char* what) {
  throw std::system_error{errno, std::generic_category(),
                          file.string() + ": " + what};
}

class descriptor {
 public:
  descriptor(const fs::path& file, int flags, unsigned mode)
      : value_{::open(file.c_str(), flags | O_CLOEXEC, mode)} {
    if (value_ < 0) fail(file, "cannot be opened");
  }
  ~descriptor() { ::close(value_); }
  descriptor(const descriptor&) = delete;
  descriptor& operator=(const descriptor&) = delete;
  int value() const { return value_; }

 private:
  int value_;
};

}  // namespace

void write_through(const fs::path& file, const std::string& text,
                   unsigned mode) {
  fs::path fresh = file;
  fresh += '.';
  fresh += std::to_string(::getpid());
  fresh += ".new";
  {
    const descriptor out{fresh, O_CREAT | O_TRUNC | O_WRONLY, mode};
    std::size_t done = 0;
    while (done < text.size()) {
      const auto n =
          ::write(out.value(), text.data() + done, text.size() - done);
      if (n < 0 && errno == EINTR) continue;
      if (n < 0) fail(fresh, "cannot be written");
      done += static_cast<std::size_t>(n);
    }
    if (::fsync(out.value()) != 0) fail(fresh, "cannot be flushed");
  }
  if (::rename(fresh.c_str(), file.c_str()) != 0) {
    fail(file, "cannot be replaced");
  }
  const descriptor folder{file.parent_path(), O_RDONLY | O_DIRECTORY, 0};
  if (::fsync(folder.value()) != 0) fail(file, "its folder cannot be flushed");
}

}  // namespace vouch::engine
