#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "engine/gate/loan_map.hpp"
#include "engine/gate/unit.hpp"
#include "engine/types.hpp"

namespace vouch::engine {

/// Rows to compute again, classically and alone.
struct replay_request {
  /// Inputs of positions 0 ... size - 1.
  std::vector<token_id> tokens;
  /// From this position on each row is a step of its own, with its logits and
  /// K and V hashed.
  std::int64_t first = 0;
  sampling_params sampling;
  std::int64_t prompt_tokens = 0;
  /// Where K and V of positions below `first` stand, to be read in place;
  /// empty: they are computed from token 0, and hashed too.
  std::vector<block_id> prefix;
  /// Rows of a step where they are computed.
  std::int64_t chunk = 256;
  /// The bytes of this position's row are wanted; -1: of none.
  std::int64_t read_position = -1;
  /// Its K and V rather than its logits.
  bool read_kv = false;
};

/// One row.
struct replayed_row {
  std::int64_t position = 0;
  std::uint64_t logits = 0;
  logits_state state = logits_state::sound;
  token_id pick = -1;
  std::uint64_t kv = 0;
};

/// Computes rows in lent memory: one slot, and need() blocks. Blocks of the
/// prefix that are whole are read where they stand; of the one that `first` is
/// in, a copy is.
class replay {
 public:
  replay(replay_request what, loan_map map);

  static gate_need need(const replay_request& what);

  std::optional<gate_unit> next();
  void take(const gate_unit_result& result);

  bool done() const { return done_; }
  /// Not empty: it could not be computed.
  const std::string& error() const { return error_; }
  const std::vector<replayed_row>& rows() const { return rows_; }
  /// K and V of positions 0 ..., where they were computed from token 0.
  const std::vector<std::uint64_t>& prefix_kv() const { return prefix_kv_; }
  const std::vector<std::byte>& read() const { return read_; }
  double seconds() const { return seconds_; }

 private:
  std::int64_t size() const {
    return static_cast<std::int64_t>(what_.tokens.size());
  }

  replay_request what_;
  loan_map map_;
  std::vector<block_id> blocks_;
  std::int64_t at_ = 0;
  /// Rows of the unit that is out; 0: none is, or it is the last one.
  std::int64_t rows_out_ = 0;
  bool out_ = false;
  bool opened_ = false;
  bool done_ = false;
  step_id steps_ = 0;
  std::string error_;
  std::vector<replayed_row> rows_;
  std::vector<std::uint64_t> prefix_kv_;
  std::vector<std::byte> read_;
  double seconds_ = 0.0;
};

}  // namespace vouch::engine
