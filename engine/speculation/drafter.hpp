#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "engine/speculation/decline.hpp"
#include "engine/speculation/round.hpp"
#include "engine/types.hpp"

namespace vouch::engine {

enum class drafter_kind : std::uint8_t { lookup, dflash, model, scripted };

/// "lookup", "dflash", "model", "scripted".
std::string_view name_of(drafter_kind kind);

/// A drafter may say how good a proposal looks before it is verified, as one of
/// so many classes, the last the best; acceptance is counted for each apart.
inline constexpr int evidence_classes = 4;

struct draft {
  /// At most width - 1 tokens to follow the anchor; fewer, or none, where the
  /// drafter has nothing to say.
  std::vector<token_id> tokens;
  int evidence = 0;
};

/// A drafter's state for one sequence. It sees that sequence's tokens and no
/// other's, so nobody's text can change what another's request computes.
///
/// `history` is the prompt's and the emitted tokens, the anchor last; from call
/// to call it only grows. Rejected drafts never enter it, so a rollback needs
/// nothing here.
class sequence_drafter {
 public:
  virtual ~sequence_drafter() = default;

  /// Tokens were added to the history, by rounds or by classic steps. Calls
  /// may be left out; propose() makes up for them.
  /// Throws std::invalid_argument for a history shorter than one before it.
  virtual void commit(std::span<const token_id> history) = 0;

  /// What may follow, for a verify block of `width` rows, `width` >= 1.
  virtual draft propose(std::span<const token_id> history, int width) = 0;

  /// How the last proposal ended.
  virtual void observe(const round_outcome&) {}
};

/// One sequence's part of a proposal for many.
struct draft_job {
  sequence_drafter* state = nullptr;
  std::span<const token_id> history;
  int width = 1;
  draft result;
};

/// What is loaded once and serves all sequences.
class drafter {
 public:
  virtual ~drafter() = default;

  virtual drafter_kind kind() const = 0;
  /// The widest block it can draft for, in rows (its drafts and the anchor).
  virtual int max_width() const = 0;
  /// Costs so little beside a step that proposals nobody verifies are free.
  virtual bool is_free() const { return false; }

  /// The state of a new sequence.
  virtual std::unique_ptr<sequence_drafter> open() const = 0;

  /// Fills in the jobs' results, every job of another sequence and all of them
  /// of this drafter. A drafter that runs a model overrides it to run them in
  /// one pass.
  virtual void propose(std::span<draft_job> jobs) const {
    for (auto& job : jobs) {
      job.result = job.state->propose(job.history, job.width);
    }
  }
};

class device_drafter;

/// A drafter, or why there is none. Loading never fails a server: it serves
/// classically and reports the decline. One of the three is set; what makes it
/// is engine/drafters/load_drafter.hpp.
struct drafter_load {
  /// One that needs no device: whoever plans steps calls it.
  std::shared_ptr<const drafter> loaded = {};
  std::optional<decline> declined = {};
  /// One that runs a model: the executor's (cpu_executor_options::drafter).
  std::shared_ptr<device_drafter> device = {};
  /// For logs.
  std::string description = {};
  /// Of its weights, for the gate's scope; empty for one without.
  std::string fingerprint = {};
};

}  // namespace vouch::engine
