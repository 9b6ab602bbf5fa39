#pragma once

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>

namespace vouch::test {

/// An empty folder of a test's own, removed with what it holds.
class temporary_folder {
 public:
  temporary_folder() {
    auto name =
        (std::filesystem::temp_directory_path() / "vouch-test-XXXXXX").string();
    if (::mkdtemp(name.data()) == nullptr) {
      throw std::runtime_error{"cannot make a temporary folder"};
    }
    path_ = name;
  }
  ~temporary_folder() {
    std::error_code ignored;
    if (!path_.empty()) std::filesystem::remove_all(path_, ignored);
  }
  temporary_folder(temporary_folder&& other) noexcept
      : path_{std::exchange(other.path_, {})} {}
  temporary_folder& operator=(temporary_folder&&) = delete;

  const std::filesystem::path& path() const { return path_; }

  std::filesystem::path write(const std::string& name,
                              std::string_view content) const {
    std::ofstream out{path_ / name, std::ios::binary};
    out << content;
    return path_ / name;
  }

 private:
  std::filesystem::path path_;
};

}  // namespace vouch::test
