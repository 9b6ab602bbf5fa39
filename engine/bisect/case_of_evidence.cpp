#include <algorithm>
#include <random>

#include "engine/bisect/bisect_case.hpp"
#include "engine/error.hpp"

namespace vouch::engine {
namespace {

bool is_own(const step_item& item, const audit_record& record) {
  const auto from = record.tokens.begin() + record.position;
  return item.position == record.position && item.kind == record.kind &&
         static_cast<std::int64_t>(item.tokens.size()) >= record.rows &&
         std::equal(from, record.tokens.end(), item.tokens.begin());
}

}  // namespace

bisect_case case_of_evidence(const trip_evidence& evidence,
                             const bisect_sources& sources) {
  const audit_record& record = evidence.finding.record;
  bisect_case out;
  out.what = "the evidence of scope " + evidence.scope_id;
  out.chunk = sources.chunk;
  out.served = record.logits_hashes;
  const auto first_logits = record.position + record.hash_begin;
  for (const auto& row : evidence.finding.classic) {
    if (row.position >= first_logits) out.classic.push_back(row.logits);
  }
  out.sequences.push_back({"the audited one", record.tokens,
                           record.prompt_tokens, record.sampling});
  std::mt19937_64 random{sources.seed};
  const auto any = [&] {
    return static_cast<token_id>(
        random() % static_cast<std::uint64_t>(sources.vocabulary));
  };
  std::vector<bisect_item> items;
  bool found = false;
  const auto& work = record.work ? *record.work : step{};
  for (const auto& item : work.items) {
    bisect_item made;
    made.kind = item.kind;
    made.position = item.position;
    made.tokens = item.tokens;
    made.logits_begin = item.logits_begin;
    made.kept = static_cast<std::int64_t>(item.tokens.size());
    if (!found && is_own(item, record)) {
      found = true;
      made.kept = record.rows;
    } else {
      made.sequence = out.sequences.size();
      bisect_sequence beside;
      beside.name = "beside it, slot " + std::to_string(item.slot);
      for (std::int32_t p = 0; p < item.position; ++p) {
        beside.tokens.push_back(any());
      }
      // An input that was still to be picked has no token.
      for (auto& token : made.tokens) {
        if (token < 0) token = any();
        beside.tokens.push_back(token);
      }
      beside.prompt = item.kind == row_kind::prefill
                          ? static_cast<std::int64_t>(beside.tokens.size())
                          : std::max<std::int64_t>(1, item.position);
      beside.sampling.temperature = 0.0F;
      out.sequences.push_back(std::move(beside));
    }
    items.push_back(std::move(made));
  }
  if (!found) {
    throw input_error("trip.json", "the audited rows are not in its step");
  }
  if (items.size() > 1) {
    out.notes.emplace_back(
        "what stood before the neighbours' rows is not in evidence: random "
        "tokens stand for it");
  }
  for (const auto& each : out.sequences) {
    for (const auto token : each.tokens) {
      if (token < 0 || token >= sources.vocabulary) {
        throw input_error("trip.json",
                          "token " + std::to_string(token) +
                              " is not in the model's vocabulary: it is "
                              "another model's");
      }
    }
  }
  out.steps.push_back(std::move(items));
  return out;
}

}  // namespace vouch::engine
