#include "cli/progress_bar.hpp"

#include <algorithm>
#include <filesystem>
#include <iostream>
#include <unistd.h>
#include <utility>

namespace vouch::cli {

progress_bar::progress_bar(std::string label)
    : label_(std::move(label)), terminal_(isatty(STDERR_FILENO) != 0) {}

progress_bar::~progress_bar() {
  if (drawn_percent_ >= 0) {
    std::cerr << "\r\033[K" << std::flush;
  }
}

void progress_bar::show(double share) {
  const int percent = static_cast<int>(std::clamp(share, 0.0, 1.0) * 100.0);
  if (!terminal_ || percent == drawn_percent_) {
    return;
  }
  static constexpr int width = 30;
  const int filled = percent * width / 100;
  std::cerr << '\r' << label_ << " ["
            << std::string(static_cast<std::size_t>(filled), '#')
            << std::string(static_cast<std::size_t>(width - filled), ' ')
            << "] " << percent << '%' << std::flush;
  drawn_percent_ = percent;
}

std::string file_name(const std::string& path) {
  return std::filesystem::path{path}.lexically_normal().filename().string();
}

}  // namespace vouch::cli
