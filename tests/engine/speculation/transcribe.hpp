#pragma once

#include <string>
#include <utility>
#include <vector>

#include "engine/speculation/transcript.hpp"
#include "tests/engine/speculation/play.hpp"

namespace vouch::engine::testing {

/// The transcript of a run that was played, as a server would write it: rounds
/// of one row are classic steps, which end a burst and are not written.
inline std::vector<transcript_record> transcribe(const played_run& run,
                                                 const fake_request& request,
                                                 sequence_name name,
                                                 const width_set& widths,
                                                 std::uint64_t seed) {
  std::vector<transcript_record> out;
  const auto prompt = std::ssize(request.prompt);
  transcript_sequence facts;
  facts.name = name;
  facts.prompt_tokens = prompt;
  facts.last_token = request.prompt.back();
  facts.budget = request.budget;
  facts.context = request.context;
  facts.stop_tokens = request.stop_tokens;
  facts.widths = widths;
  facts.seed = seed;
  facts.drafter = "scripted";
  out.emplace_back(facts);
  std::int64_t bursts = 0;
  std::int64_t rounds = 0;
  bool inside = false;
  for (const auto& each : run.rounds) {
    const auto generated = each.cache_before - (prompt - 1);
    if (each.input.size() == 1) {
      inside = false;
      continue;
    }
    if (!std::exchange(inside, true)) {
      rounds = 0;
      out.emplace_back(transcript_burst{name, bursts++, generated,
                                        each.input.front(), each.cache_before,
                                        "equal"});
    }
    transcript_round r;
    r.name = name;
    r.burst = bursts - 1;
    r.round = rounds++;
    r.width = std::ssize(each.input);
    r.position = each.cache_before;
    r.anchor = each.input.front();
    r.drafts.assign(each.input.begin() + 1, each.input.end());
    r.picks = each.picks;
    r.accepted = each.outcome.accepted;
    r.emitted = each.outcome.emitted;
    r.cache_before = each.cache_before;
    r.cache_after = each.cache_before + each.outcome.kept_rows;
    r.seed = seed;
    r.sampler_position = each.cache_before;
    r.verdict = "equal";
    r.end = each.outcome.end;
    out.emplace_back(r);
  }
  return out;
}

inline std::string text_of(const std::vector<transcript_record>& records) {
  std::string text;
  for (const auto& record : records) text += to_line(record);
  return text;
}

}  // namespace vouch::engine::testing
