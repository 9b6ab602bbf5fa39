#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace vouch::engine {

/// Finds the first stop string in a stream of bytes. A pure value: the
/// scheduler's copy and the request's copy see the same bytes and decide alike.
class stop_matcher {
 public:
  stop_matcher() = default;
  explicit stop_matcher(std::vector<std::string> stop_strings);

  bool active() const { return !stops_.empty(); }

  /// A match, in bytes from the start of the stream.
  struct match {
    std::size_t begin = 0;
    std::size_t end = 0;
    /// Index into the stop strings.
    std::size_t index = 0;
  };

  /// Appends bytes. The match that ends first wins; among those that end
  /// together, the one that begins first. After a match nothing changes.
  std::optional<match> push(std::string_view bytes);

  /// Bytes at the stream's end that could still begin a stop string: the
  /// longest suffix that is a proper prefix of one. To be held back.
  std::size_t held() const;

  /// Bytes seen.
  std::size_t size() const { return seen_; }

 private:
  std::vector<std::string> stops_;
  std::string tail_;
  std::size_t seen_ = 0;
  std::optional<match> found_;
};

}  // namespace vouch::engine
