#pragma once

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

namespace vouch::test {

/// A committed file under tests/fixtures/.
inline std::filesystem::path fixture(const std::string& name) {
  return std::filesystem::path{VOUCH_FIXTURES} / name;
}

/// A file that tools/fetch-model or tools/fetch-test-data laid into the cache
/// folder ("models/SmolLM2-135M-Instruct.Q4_1.gguf"). It may be absent: then
/// the test skips and says which command fetches it.
inline std::filesystem::path cached(const std::string& name) {
  if (const char* cache = std::getenv("VOUCH_CACHE")) {
    return std::filesystem::path{cache} / name;
  }
  if (const char* xdg = std::getenv("XDG_CACHE_HOME")) {
    return std::filesystem::path{xdg} / "vouch" / name;
  }
  const char* home = std::getenv("HOME");
  return std::filesystem::path{home ? home : "."} / ".cache/vouch" / name;
}

inline std::string read_file(const std::filesystem::path& path) {
  std::ifstream in{path, std::ios::binary};
  return {std::istreambuf_iterator<char>{in}, {}};
}

}  // namespace vouch::test

/// Skips the test, with the reason, when a fetched file is not there.
#define VOUCH_REQUIRE_CACHED(path)                                    \
  if (!std::filesystem::exists(path))                                 \
  GTEST_SKIP() << (path) << " is missing: run tools/fetch-model and " \
               << "tools/fetch-test-data (make test does)"
