#include "cli/bisect/report.hpp"

#include <cstdio>
#include <iostream>

#include <boost/json.hpp>

namespace vouch::cli::bisect {

namespace json = boost::json;

namespace {

std::string op_text(const engine::bisect_op& op) {
  std::string text;
  if (op.layer >= 0) text = "layer " + std::to_string(op.layer) + " ";
  text += engine::name_of(op.op);
  return text;
}

const char* name_of(engine::row_kind kind) {
  switch (kind) {
    case engine::row_kind::prefill:
      return "prefill chunk";
    case engine::row_kind::decode:
      return "classic row";
    default:
      return "verify block";
  }
}

const char* name_of(result came) {
  switch (came) {
    case result::holds:
      return "holds";
    case result::differs:
      return "differs";
    default:
      return "showed nothing";
  }
}

void print_op(const engine::bisect_op& op, const char* mark) {
  std::printf("  %5s  %-13s %10lld of %lld%s\n",
              op.layer < 0 ? "-" : std::to_string(op.layer).c_str(),
              std::string{engine::name_of(op.op)}.c_str(),
              static_cast<long long>(op.differing_bytes),
              static_cast<long long>(op.total_bytes), mark);
}

/// The first differing layer op by op; of layers before and behind it only what
/// they hand on.
void print_ops(const engine::bisect_report& report) {
  std::printf("\n  layer  op             differing bytes\n");
  const auto first = report.first_op.value_or(report.ops.size());
  const auto layer =
      first < report.ops.size() ? report.ops[first].layer : std::int32_t{-2};
  for (std::size_t i = 0; i < report.ops.size(); ++i) {
    const auto& op = report.ops[i];
    const bool shown =
        op.layer == layer || op.layer < 0 || op.op == engine::model_op::down;
    if (shown) print_op(op, i == first ? "  <- first" : "");
  }
}

void print_difference(const outcome& found) {
  const auto& report = found.report;
  const auto& at = *report.first;
  const auto& name = found.played.sequences[at.sequence].name;
  if (at.what == "kv at the end") {
    std::cout << "first difference: K and V of position " << at.position << " ("
              << name
              << ") at the end: equal when written, changed by a later step\n";
    return;
  }
  std::cout << "first difference: " << at.what << " of position " << at.position
            << " (" << name << "): row " << at.at.row << " of a "
            << name_of(at.kind) << " of " << at.item_rows << ", in step "
            << at.at.step + 1 << " with " << at.step_rows << " rows of "
            << at.items << (at.items == 1 ? " sequence" : " sequences") << '\n';
  if (!report.ops.empty()) print_ops(report);
  if (report.first_op) {
    const auto& op = report.ops[*report.first_op];
    std::cout << "\nfirst op that differs: " << op_text(op) << ", "
              << op.differing_bytes << " of " << op.total_bytes << " bytes\n";
  } else if (at.what == "pick") {
    std::cout << "\nevery op is equal: not the forward pass, but what a pick "
                 "needs beside the logits (noise, history)\n";
  } else {
    std::cout << "\nevery op of the row is equal when captured\n";
  }
  if (report.capture_changed) {
    std::cout << "CAPTURING CHANGED what was computed: the ops above say "
                 "nothing\n";
  } else {
    std::cout << "capturing changed nothing: " << report.capture_rows
              << " rows gave the same bytes again\n";
  }
}

void print_again(const engine::bisect_report& report) {
  const auto say = [](const char* what, const std::optional<bool>& again) {
    if (again) {
      std::cout << "the " << what << " bytes in the evidence "
                << (*again ? "came out again\n" : "did not come out again\n");
    }
  };
  say("served", report.served_again);
  say("classic", report.classic_again);
  if (report.served_again && !*report.served_again && !report.first) {
    std::cout << "the step itself is sound here: look at what it was given "
                 "(prefix cache, preemption, rollback) or at the machine\n";
  }
}

json::object to_json(const engine::bisect_report& report) {
  json::array ops;
  for (const auto& op : report.ops) {
    ops.push_back({{"layer", op.layer},
                   {"op", engine::name_of(op.op)},
                   {"differing_bytes", op.differing_bytes},
                   {"total_bytes", op.total_bytes}});
  }
  json::object out{{"rows", report.rows},
                   {"logits_rows", report.logits_rows},
                   {"block_steps", report.block_steps},
                   {"row_steps", report.row_steps},
                   {"faulted_rows", report.faulted_rows},
                   {"first", nullptr},
                   {"first_op", nullptr},
                   {"ops", std::move(ops)},
                   {"capture_rows", report.capture_rows},
                   {"capture_changed", report.capture_changed}};
  if (report.first) {
    const auto& at = *report.first;
    out["first"] = {{"what", at.what},           {"sequence", at.sequence},
                    {"position", at.position},   {"step", at.at.step},
                    {"row", at.at.row},          {"kind", name_of(at.kind)},
                    {"item_rows", at.item_rows}, {"step_rows", at.step_rows},
                    {"items", at.items}};
  }
  if (report.first_op) {
    out["first_op"] = out["ops"].as_array()[*report.first_op];
  }
  const auto flag = [&out](const char* key, const std::optional<bool>& value) {
    out[key] = value ? json::value(*value) : json::value(nullptr);
  };
  flag("served_again", report.served_again);
  flag("classic_again", report.classic_again);
  return out;
}

json::object to_json(const engine::op_line& line) {
  json::object out{{"shape", line.shape},
                   {"blocks", line.blocks},
                   {"rows", line.rows},
                   {"differing_blocks", line.differing_blocks},
                   {"first", nullptr}};
  if (line.first) {
    out["first"] = {{"draw", line.first->draw},
                    {"rows", line.first->rows},
                    {"offset", line.first->offset},
                    {"row", line.first->row},
                    {"differing_bytes", line.first->differing_bytes},
                    {"total_bytes", line.first->total_bytes}};
  }
  return out;
}

void print_op_lines(const options& chosen, const outcome& found) {
  std::printf("%s, %d draws, each row alone and in blocks of 1 to 33 (%s)\n\n",
              chosen.op.c_str(), chosen.draws, found.device.c_str());
  std::printf("  %-44s %7s %8s  first difference\n", "shape", "blocks", "rows");
  for (const auto& line : found.ops) {
    std::printf("  %-44s %7lld %8lld  ", line.shape.c_str(),
                static_cast<long long>(line.blocks),
                static_cast<long long>(line.rows));
    if (!line.first) {
      std::printf("none\n");
      continue;
    }
    std::printf("row %lld of %lld: %lld of %lld bytes (%lld blocks differ)\n",
                static_cast<long long>(line.first->row),
                static_cast<long long>(line.first->rows),
                static_cast<long long>(line.first->differing_bytes),
                static_cast<long long>(line.first->total_bytes),
                static_cast<long long>(line.differing_blocks));
  }
}

}  // namespace

void print(const options& chosen, const outcome& found) {
  if (!found.ops.empty()) {
    print_op_lines(chosen, found);
  } else {
    std::cout << found.played.what << " (" << found.device << ")\n";
    for (const auto& note : found.played.notes) {
      std::cout << "note: " << note << '\n';
    }
    const auto& report = found.report;
    if (!found.faults.empty()) {
      std::cout << "planted: " << found.faults << ": " << report.faulted_rows
                << " rows changed\n";
    }
    std::cout << report.rows << " rows of " << found.played.steps.size()
              << " steps, played again and one by one; " << report.logits_rows
              << " with logits\n";
    // What follows is written by both kinds of output.
    std::cout.flush();
    if (report.first) print_difference(found);
    print_again(report);
  }
  std::fflush(stdout);
  std::cout << name_of(found.came);
  if (!found.why.empty()) std::cout << ": " << found.why;
  std::cout << '\n';
}

std::string to_json(const options& chosen, const outcome& found) {
  json::object out{{"result", name_of(found.came)},
                   {"why", found.why},
                   {"device", found.device},
                   {"plan", chosen.plan}};
  if (!found.ops.empty()) {
    json::array ops;
    for (const auto& line : found.ops) ops.push_back(to_json(line));
    out["op"] = chosen.op;
    out["lines"] = std::move(ops);
  } else {
    out["case"] = found.played.what;
    out["notes"] = json::value_from(found.played.notes);
    out["faults"] = found.faults;
    out["report"] = to_json(found.report);
  }
  return json::serialize(out) + '\n';
}

}  // namespace vouch::cli::bisect
