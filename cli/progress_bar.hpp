#pragma once

#include <string>

namespace vouch::cli {

/// A bar on standard error where that is a terminal; silent elsewhere.
class progress_bar {
 public:
  explicit progress_bar(std::string label);
  ~progress_bar();
  progress_bar(const progress_bar&) = delete;
  progress_bar& operator=(const progress_bar&) = delete;

  /// Draws `share`, in [0, 1].
  void show(double share);

 private:
  std::string label_;
  bool terminal_ = false;
  int drawn_percent_ = -1;
};

/// The last part of a path, for the label.
std::string file_name(const std::string& path);

}  // namespace vouch::cli
