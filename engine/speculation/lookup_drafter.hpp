#pragma once

#include <memory>

#include "engine/speculation/drafter.hpp"
#include "engine/speculation/lookup_index.hpp"

namespace vouch::engine {

/// Prompt lookup: what followed the last time that the request's own tokens
/// ended as they do now. Needs no model and next to no time; good at copying,
/// of little use on prose.
///
/// The copy goes on into what it has copied (as in Lempel and Ziv, 1977), so a
/// run of one token, or a short period, fills any width. A proposal's evidence
/// is the length of the match: 2 tokens or fewer, 3, 4 to 7, 8 and more.
class lookup_drafter : public drafter {
 public:
  /// Throws std::invalid_argument naming the option.
  explicit lookup_drafter(const lookup_options& options) : options_{options} {
    (void)lookup_index{options};
  }

  drafter_kind kind() const override { return drafter_kind::lookup; }
  int max_width() const override { return max_round_width; }
  bool is_free() const override { return true; }
  std::unique_ptr<sequence_drafter> open() const override;

 private:
  lookup_options options_;
};

}  // namespace vouch::engine
