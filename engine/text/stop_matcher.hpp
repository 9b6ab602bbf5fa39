#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace vouch::engine {

/// Finds the first stop string in a stream of bytes. A pure value: the
/// scheduler's copy and the request's copy see the same bytes and decide alike.
/// Costs one comparison (amortised) per byte and stop string, whatever overlaps
/// (Knuth, Morris, Pratt 1977, once for each string).
class stop_matcher {
 public:
  stop_matcher() = default;
  /// Empty strings never match.
  explicit stop_matcher(std::vector<std::string> stop_strings);

  bool active() const { return !states_.empty(); }

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
  /// longest suffix that is a proper prefix of one. To be held back. 0 after a
  /// match.
  std::size_t held() const;

  /// Bytes seen; after a match, those up to its end.
  std::size_t size() const { return seen_; }

 private:
  struct pattern {
    std::string text;
    std::size_t index = 0;
    /// border[n]: the longest proper prefix of the first n bytes that is also
    /// their suffix.
    std::vector<std::size_t> border;
  };
  /// Never changes, so copies share it.
  std::shared_ptr<const std::vector<pattern>> patterns_;
  /// For each pattern, how many of its bytes the stream ends with.
  std::vector<std::size_t> states_;
  std::size_t seen_ = 0;
  std::optional<match> found_;
};

}  // namespace vouch::engine
