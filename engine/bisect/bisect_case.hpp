#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "engine/executor/executor.hpp"
#include "engine/gate/evidence.hpp"
#include "engine/gate/scenario.hpp"
#include "engine/speculation/transcript.hpp"
#include "engine/types.hpp"

namespace vouch::engine {

/// One sequence that is played again.
struct bisect_sequence {
  std::string name;
  /// Input of every position that is kept, from 0 on.
  std::vector<token_id> tokens;
  std::int64_t prompt = 0;
  sampling_params sampling;
};

/// Rows of one sequence in a step.
struct bisect_item {
  std::size_t sequence = 0;
  row_kind kind = row_kind::decode;
  std::int64_t position = 0;
  /// The inputs, those of rejected rows as they stood there.
  std::vector<token_id> tokens;
  /// The first rows, whose input is the sequence's: those that are compared.
  std::int64_t kept = 1;
  /// Rows from here on get logits.
  std::int64_t logits_begin = 0;
};

/// Steps to be played as they are, and row after row.
struct bisect_case {
  /// "transcript rounds.jsonl, request 'a', choice 0", for people.
  std::string what;
  std::vector<bisect_sequence> sequences;
  std::vector<std::vector<bisect_item>> steps;
  /// Rows of a step while the rows before the first item are computed.
  std::int64_t chunk = 256;
  /// What stands for something that is not known, for people.
  std::vector<std::string> notes;
  /// Of evidence: hashes of the logits that were served, and that the audit
  /// computed, for the rows from the first one with logits on.
  std::vector<std::uint64_t> served;
  std::vector<std::uint64_t> classic;

  std::int64_t kept_rows() const;
  std::int64_t widest_step() const;
};

/// The blocks, slots, rows a step and positions that playing it takes. Throws
/// input_error where the model has too few positions.
executor_limits needs_of(const bisect_case& of, std::int64_t positions);

struct bisect_sources {
  /// Prompt (and more) of a sequence; may give nothing.
  std::function<std::vector<token_id>(const sequence_name&)> text;
  token_id vocabulary = 0;
  std::int64_t chunk = 256;
  std::uint64_t seed = 1;
};

/// One sequence of a transcript. Tokens that neither it nor `sources.text`
/// knows are random ones: what is compared does not depend on them, what a
/// fault does may. Throws input_error.
bisect_case case_of_transcript(const std::string& file,
                               std::span<const transcript_entry> entries,
                               const sequence_name& name,
                               const bisect_sources& sources);

/// The step that a trip's evidence recorded, with everybody in it. What stood
/// before the neighbours' rows is not in evidence: random tokens.
bisect_case case_of_evidence(const trip_evidence& evidence,
                             const bisect_sources& sources);

struct pattern_options {
  std::vector<token_id> prompt;
  sampling_params sampling;
  /// Rows behind the prompt.
  std::int64_t rows = 64;
  int width = 4;
  /// classic: blocks of one row, a walk.
  draft_pattern pattern = draft_pattern::mixed;
  /// Sequences with one row in every step, half of them before the block.
  int beside = 0;
};

/// A prompt whose text `device` makes, row after row, and blocks over it with
/// some of their drafts right.
bisect_case case_of_pattern(executor& device, const pattern_options& options,
                            const bisect_sources& sources);

}  // namespace vouch::engine
