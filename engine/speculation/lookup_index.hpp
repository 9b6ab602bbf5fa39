#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "engine/types.hpp"

namespace vouch::engine {

struct lookup_options {
  /// Lengths of the suffix that is looked for, the longest first;
  /// 1 <= n_min <= n_max <= 16.
  int n_min = 2;
  int n_max = 4;
  /// Positions that are indexed, >= 32: past it the older half is forgotten.
  /// A position costs up to 16 bytes a length.
  std::int64_t max_positions = 32768;
  /// Mixed into the hashes, so that nobody can write a prompt whose n-grams
  /// all collide. Changes no answer.
  std::uint64_t key = 0;
};

/// Where the end of a history occurred before: the longest suffix of n_max to
/// n_min tokens that did, and of its occurrences the most recent one. Exact:
/// hashing finds candidates, the tokens themselves decide.
///
/// Hash tables, one a length, from an n-gram to where it last ended. Adding a
/// token and finding a match take constant time, whatever the history is.
class lookup_index {
 public:
  /// Throws std::invalid_argument naming the option.
  explicit lookup_index(const lookup_options& options);

  /// Adds the tokens by which the history has grown.
  /// Throws std::invalid_argument where it has become shorter.
  void commit(std::span<const token_id> history);

  struct match {
    /// Position of the token after the occurrence; before the history's end.
    std::int64_t next = 0;
    /// How many tokens before it agree with the history's end: at least the
    /// n that was found, counted on up to longest_match.
    int length = 0;
  };
  static constexpr int longest_match = 16;

  /// Of the history that was committed last.
  std::optional<match> find(std::span<const token_id> history) const;

  /// The oldest position that an n-gram may begin at.
  std::int64_t begin() const { return begin_; }
  std::size_t bytes() const;
  /// The most slots that one insertion or search so far had to look at.
  std::size_t longest_probe() const { return longest_probe_; }

 private:
  /// Open addressing; a slot holds 1 + where an n-gram ends (the position of
  /// its last token), 0 is free.
  struct table {
    std::vector<std::int32_t> slots;
    std::size_t used = 0;
  };

  std::size_t probe(const table& t, int n, std::span<const token_id> history,
                    std::int64_t end) const;
  void insert(int n, std::span<const token_id> history, std::int64_t end);
  void grow(int n, std::span<const token_id> history);
  void forget(std::span<const token_id> history);

  lookup_options options_;
  /// tables_[n - n_min].
  std::vector<table> tables_;
  /// n-grams that end before it are indexed: all but the history's end.
  std::int64_t indexed_ = 0;
  std::int64_t begin_ = 0;
  mutable std::size_t longest_probe_ = 0;
};

}  // namespace vouch::engine
