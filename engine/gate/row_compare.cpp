#include "engine/gate/row_compare.hpp"

#include <algorithm>

namespace vouch::engine {
namespace {

const char* unsound(const arm_row& row) {
  if (row.state == logits_state::nan) return "logits hold a NaN";
  if (row.state == logits_state::zero) return "logits are all zero";
  return nullptr;
}

/// Verify blocks by their width; whatever else runs is classic.
int width_of(row_kind kind, std::int32_t rows) {
  return kind == row_kind::verify ? rows : 1;
}

}  // namespace

void row_tally::add(const row_tally& more) {
  rows += more.rows;
  kv_rows += more.kv_rows;
  sampled += more.sampled;
  positions = std::max(positions, more.positions);
  rounds += more.rounds;
  accepted += more.accepted;
  rejected += more.rejected;
}

row_compare::row_compare(const scenario& played,
                         std::span<const probe_text> texts)
    : played_{&played}, texts_{texts} {}

std::optional<row_mismatch> row_compare::see_row(const arm_row& row) {
  const auto& each = played_->sequences[row.sequence];
  const auto& text = texts_[each.text];
  const auto at = static_cast<std::size_t>(row.position);
  auto& pattern = by_pattern_[each.pattern];
  auto& tally = tallies_[width_of(row.kind, row.width)];
  const auto differs = [&](std::string what, std::uint64_t classic,
                           std::uint64_t here) {
    return row_mismatch{row.sequence, row.kind,        row.width, row.row,
                        row.position, std::move(what), classic,   here};
  };
  if (row.logits) {
    if (const char* what = unsound(row)) return differs(what, 0, *row.logits);
    const auto first = row.position - text.first_logits;
    if (first >= 0 && first < static_cast<std::int64_t>(text.logits.size())) {
      const auto classic = text.logits[static_cast<std::size_t>(first)];
      if (classic != *row.logits) {
        return differs("logits", classic, *row.logits);
      }
      const int sampled = text.sampling.temperature > 0.0F ? 1 : 0;
      ++tally.rows;
      ++pattern.rows;
      tally.sampled += sampled;
      pattern.sampled += sampled;
      tally.positions = std::max(tally.positions, row.position + 1);
    }
  }
  if (row.pick >= 0 && at + 1 < text.tokens.size() &&
      row.pick != text.tokens[at + 1]) {
    return differs("pick", static_cast<std::uint64_t>(text.tokens[at + 1]),
                   static_cast<std::uint64_t>(row.pick));
  }
  if (at < text.kv.size()) {
    if (text.kv[at] != row.kv) return differs("kv", text.kv[at], row.kv);
    ++tally.kv_rows;
    ++pattern.kv_rows;
  }
  return std::nullopt;
}

std::optional<row_mismatch> row_compare::see_end(const arm_step::ended& end) {
  const auto& each = played_->sequences[end.sequence];
  const auto& text = texts_[each.text];
  const auto rows = static_cast<std::size_t>(text.prompt + each.emitted() - 1);
  row_mismatch at;
  at.sequence = end.sequence;
  at.width = each.width;
  at.kind = each.width > 1 ? row_kind::verify : row_kind::decode;
  if (end.tokens != each.emitted()) {
    at.position = text.prompt + std::min(end.tokens, each.emitted());
    at.what = "the end";
    at.classic = static_cast<std::uint64_t>(each.emitted());
    at.here = static_cast<std::uint64_t>(end.tokens);
    return at;
  }
  if (end.kv.size() < rows) {
    at.position = static_cast<std::int64_t>(end.kv.size());
    at.what = "kv at the end is missing";
    return at;
  }
  for (std::size_t p = 0; p < rows && p < text.kv.size(); ++p) {
    if (end.kv[p] == text.kv[p]) continue;
    at.position = static_cast<std::int64_t>(p);
    at.what = "kv at the end";
    at.classic = text.kv[p];
    at.here = end.kv[p];
    return at;
  }
  return std::nullopt;
}

std::optional<row_mismatch> row_compare::see(const arm_step& step) {
  std::optional<row_mismatch> first;
  const auto keep = [&first](std::optional<row_mismatch> found) {
    if (found && !first) first = std::move(found);
  };
  for (const auto& row : step.rows) keep(see_row(row));
  for (const auto& round : step.rounds) {
    row_tally one;
    one.rounds = 1;
    one.accepted = round.accepted;
    one.rejected = round.width - 1 - round.accepted;
    tallies_[round.width].add(one);
    by_pattern_[played_->sequences[round.sequence].pattern].add(one);
  }
  for (const auto& end : step.ends) keep(see_end(end));
  if (step.failed && !first) {
    first.emplace();
    first->sequence = step.failed->sequence;
    first->position = step.failed->position;
    first->what = step.failed->what;
  }
  return first;
}

std::string take_classic(const arm_step& step, const scenario& played,
                         std::span<probe_text> texts) {
  if (step.failed) return step.failed->what;
  for (const auto& row : step.rows) {
    auto& text = texts[played.sequences[row.sequence].text];
    const auto at = static_cast<std::size_t>(row.position);
    if (row.logits) {
      if (const char* what = unsound(row)) {
        return std::string{what} + " at position " +
               std::to_string(row.position);
      }
      if (text.logits.empty()) text.first_logits = row.position;
      text.logits.push_back(*row.logits);
    }
    if (text.kv.size() <= at) text.kv.resize(at + 1);
    text.kv[at] = row.kv;
    if (row.pick >= 0) text.tokens.push_back(row.pick);
  }
  for (const auto& end : step.ends) {
    const auto& text = texts[played.sequences[end.sequence].text];
    if (end.kv.size() < text.kv.size() ||
        !std::equal(text.kv.begin(), text.kv.end(), end.kv.begin())) {
      return "the classic arm's K and V changed after they were written";
    }
  }
  return {};
}

}  // namespace vouch::engine
