#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "engine/speculation/drafter.hpp"
#include "tests/parity/run.hpp"

namespace vouch::test {

/// Who drafts in an arm.
enum class drafting : std::uint8_t {
  right,
  wrong,
  random,
  probable,
  alternating,
  lookup,
};
inline constexpr drafting all_draftings[] = {
    drafting::right,    drafting::wrong,       drafting::random,
    drafting::probable, drafting::alternating, drafting::lookup};

std::string_view name_of(drafting how);

/// A sequence's drafter. `text` is the prompt and what classic decoding goes on
/// with; those that follow a script know it.
std::unique_ptr<engine::sequence_drafter> open_drafter(
    drafting how, std::vector<engine::token_id> text,
    engine::token_id vocabulary, std::uint64_t seed);

/// One drafter at one width, alone or among others: all sequences that ran so,
/// and whether they are what classic decoding gives. An arm in which nothing
/// ran, or not what its name says, fails.
class parity_arm {
 public:
  parity_arm(drafting how, int width, bool alone);

  /// Compares token ids, the hash of every emitted row's logits, the hash of
  /// every position's K and V, and the reason of the end.
  void take(const std::string& prompt, const parity_text& classic,
            const parity_text& burst);

  /// What is wrong, the first of each kind: one line each. Empty: nothing.
  std::vector<std::string> failures() const;
  /// "right, width 4, alone: 8 texts, 192 rows, ..."
  std::string summary() const;

  std::int64_t rows() const { return rows_; }
  std::int64_t kv_rows() const { return kv_rows_; }
  std::int64_t accepted() const { return accepted_; }
  drafting how() const { return how_; }

 private:
  void fail(const std::string& prompt, const std::string& what);

  drafting how_;
  std::string name_;
  std::int64_t texts_ = 0;
  std::int64_t rows_ = 0;
  std::int64_t kv_rows_ = 0;
  std::int64_t rounds_ = 0;
  std::int64_t wide_rounds_ = 0;
  std::int64_t drafted_ = 0;
  std::int64_t accepted_ = 0;
  std::int64_t differing_ = 0;
  std::vector<std::string> failures_;
};

}  // namespace vouch::test
