#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "engine/gate/arm_run.hpp"
#include "engine/gate/scenario.hpp"

namespace vouch::engine {

/// What was compared, of one width (1: classic rows and prefill).
struct row_tally {
  /// Logits rows, and positions of K and V.
  std::int64_t rows = 0;
  std::int64_t kv_rows = 0;
  /// Of the logits rows, those of texts that are sampled.
  std::int64_t sampled = 0;
  /// One more than the highest position whose logits were compared.
  std::int64_t positions = 0;
  std::int64_t rounds = 0;
  std::int64_t accepted = 0;
  std::int64_t rejected = 0;

  void add(const row_tally& more);
};

/// The first row that is not as the classic arm's.
struct row_mismatch {
  std::size_t sequence = 0;
  row_kind kind = row_kind::prefill;
  std::int32_t width = 1;
  std::int32_t row = 0;
  std::int64_t position = -1;
  /// "logits", "kv", "pick", "kv at the end", "the end" (another number of
  /// tokens), or what failed.
  std::string what;
  std::uint64_t classic = 0;
  std::uint64_t here = 0;
};

/// Compares what an arm shows with the classic texts, in bytes of logits (by
/// their hashes), in picks, and in K and V as written and as they stand at the
/// end. A row that holds a NaN, is all zero, or lacks its hash is a mismatch.
class row_compare {
 public:
  row_compare(const scenario& played, std::span<const probe_text> texts);

  /// The first mismatch of this step, if it has any.
  std::optional<row_mismatch> see(const arm_step& step);

  /// By width of the item.
  const std::map<int, row_tally>& tallies() const { return tallies_; }
  /// By pattern of the sequence's drafts.
  const std::map<draft_pattern, row_tally>& by_pattern() const {
    return by_pattern_;
  }

 private:
  std::optional<row_mismatch> see_row(const arm_row& row);
  std::optional<row_mismatch> see_end(const arm_step::ended& end);

  const scenario* played_;
  std::span<const probe_text> texts_;
  std::map<int, row_tally> tallies_;
  std::map<draft_pattern, row_tally> by_pattern_;
};

/// Takes what the classic arm shows into the texts it makes, and checks that
/// its rows are sound. The reason why not, or empty.
std::string take_classic(const arm_step& step, const scenario& played,
                         std::span<probe_text> texts);

}  // namespace vouch::engine
