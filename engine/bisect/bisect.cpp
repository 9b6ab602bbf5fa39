#include "engine/bisect/bisect.hpp"

#include <algorithm>

namespace vouch::engine {
namespace {

const char* difference(const played_row& block, const played_row& row) {
  if (block.state == logits_state::nan) return "logits hold a NaN";
  if (block.state == logits_state::zero) return "logits are all zero";
  if (block.logits && row.logits && *block.logits != *row.logits) {
    return "logits";
  }
  if (block.kv != row.kv) return "kv";
  if (block.pick >= 0 && row.pick >= 0 && block.pick != row.pick) {
    return "pick";
  }
  return nullptr;
}

bool same(const played_row& a, const played_row& b) {
  return a.logits == b.logits && a.kv == b.kv && a.pick == b.pick;
}

/// Rows come step by step, and in a step the first sequence, which is the one
/// in question, is looked at first.
std::optional<bisect_difference> compare(const bisect_case& of,
                                         const played_arm& blocks,
                                         const played_arm& rows) {
  const played_row* first = nullptr;
  const char* what = nullptr;
  for (std::size_t i = 0; i < blocks.rows.size(); ++i) {
    const auto& here = blocks.rows[i];
    const char* found = difference(here, rows.rows[i]);
    if (found == nullptr) continue;
    if (first != nullptr && (first->at.step != here.at.step ||
                             here.sequence != 0 || first->sequence == 0)) {
      continue;
    }
    first = &here;
    what = found;
  }
  bisect_difference out;
  if (first != nullptr) {
    const auto& items = of.steps[first->at.step];
    const auto& item = items[first->at.item];
    out.at = first->at;
    out.sequence = first->sequence;
    out.position = first->position;
    out.kind = item.kind;
    out.item_rows = static_cast<std::int64_t>(item.tokens.size());
    for (const auto& each : items) {
      out.step_rows += static_cast<std::int64_t>(each.tokens.size());
    }
    out.items = static_cast<std::int64_t>(items.size());
    out.what = what;
    return out;
  }
  for (std::size_t s = 0; s < blocks.kv_at_end.size(); ++s) {
    const auto& here = blocks.kv_at_end[s];
    const auto& there = rows.kv_at_end[s];
    const auto [a, b] =
        std::mismatch(here.begin(), here.end(), there.begin(), there.end());
    if (a == here.end()) continue;
    out.sequence = s;
    out.position = a - here.begin();
    out.what = "kv at the end";
    return out;
  }
  return std::nullopt;
}

/// Both arms capture the same ops, but for a row that has no logits in one.
void compare_ops(const played_arm& blocks, const played_arm& rows,
                 bisect_report& report) {
  auto row = rows.captured.begin();
  for (const auto& block : blocks.captured) {
    row = std::find_if(row, rows.captured.end(), [&](const auto& each) {
      return each.op == block.op && each.layer == block.layer;
    });
    if (row == rows.captured.end()) return;
    bisect_op op{block.op, block.layer, 0, 0};
    op.total_bytes = static_cast<std::int64_t>(block.bytes.size());
    for (std::size_t i = 0; i < block.bytes.size(); ++i) {
      if (i >= row->bytes.size() || block.bytes[i] != row->bytes[i]) {
        ++op.differing_bytes;
      }
    }
    if (op.differing_bytes > 0 && !report.first_op) {
      report.first_op = report.ops.size();
    }
    report.ops.push_back(op);
    ++row;
  }
}

/// Whether the rows up to where the captured run ended have the same bytes.
void check_capture(const played_arm& before, const played_arm& captured,
                   bisect_report& report) {
  for (std::size_t i = 0; i < captured.rows.size(); ++i) {
    if (i >= before.rows.size() || !same(before.rows[i], captured.rows[i])) {
      report.capture_changed = true;
    }
    ++report.capture_rows;
  }
}

bool came_again(const played_arm& arm,
                const std::vector<std::uint64_t>& known) {
  std::size_t next = 0;
  for (const auto& row : arm.rows) {
    if (row.sequence != 0 || next == known.size()) continue;
    if (row.logits && *row.logits == known[next]) ++next;
  }
  return next == known.size();
}

}  // namespace

bisect_report bisect(const executor_maker& make, const bisect_case& of) {
  bisect_report report;
  const auto run = [&](bisect_arm arm,
                       const std::optional<bisect_place>& capture = {}) {
    const auto device = make();
    auto played = play(*device, of, arm, capture);
    if (report.error.empty()) report.error = played.error;
    return played;
  };
  const auto blocks = run(bisect_arm::blocks);
  const auto rows = run(bisect_arm::rows);
  report.block_steps = blocks.steps;
  report.row_steps = rows.steps;
  report.faulted_rows = blocks.faulted_rows + rows.faulted_rows;
  if (!report.error.empty()) return report;
  report.rows = static_cast<std::int64_t>(blocks.rows.size());
  report.logits_rows =
      std::count_if(blocks.rows.begin(), blocks.rows.end(),
                    [](const auto& row) { return row.logits.has_value(); });
  if (!of.served.empty()) report.served_again = came_again(blocks, of.served);
  if (!of.classic.empty()) report.classic_again = came_again(rows, of.classic);
  report.first = compare(of, blocks, rows);
  if (!report.first || report.first->what == "kv at the end") return report;
  const auto block_again = run(bisect_arm::blocks, report.first->at);
  const auto row_again = run(bisect_arm::rows, report.first->at);
  check_capture(blocks, block_again, report);
  check_capture(rows, row_again, report);
  compare_ops(block_again, row_again, report);
  return report;
}

}  // namespace vouch::engine
