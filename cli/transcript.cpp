#include <fstream>
#include <iostream>
#include <memory>
#include <string>

#include <boost/json.hpp>

#include "cli/commands.hpp"
#include "engine/error.hpp"
#include "engine/file_text.hpp"
#include "engine/speculation/transcript_check.hpp"

namespace vouch::cli {

namespace json = boost::json;

namespace {

/// A line of a few hundred bytes a round.
constexpr std::size_t max_transcript_bytes = std::size_t{4} << 30U;
/// More failures than a person reads; --json has all of them.
constexpr std::size_t most_shown = 20;

struct options {
  std::string file;
  std::string classic;
  std::string json_file;
};

std::string read(const std::string& file) {
  return engine::read_input_text(file, max_transcript_bytes);
}

json::object to_json(const engine::transcript_failure& failure) {
  json::object out{{"rule", engine::name_of(failure.rule)}};
  const auto add = [&out](const char* key, std::int64_t value) {
    out[key] = value < 0 ? json::value(nullptr) : json::value(value);
  };
  add("line", failure.line == 0 ? -1 : static_cast<std::int64_t>(failure.line));
  out["request"] = failure.name.request;
  out["choice"] = failure.name.choice;
  add("burst", failure.burst);
  add("round", failure.round);
  add("row", failure.row);
  out["detail"] = failure.detail;
  return out;
}

json::object to_json(const engine::transcript_report& report,
                     const options& chosen) {
  json::array failures;
  for (const auto& failure : report.failures) {
    failures.push_back(to_json(failure));
  }
  return {{"file", chosen.file},
          {"classic", chosen.classic.empty() ? json::value(nullptr)
                                             : json::value(chosen.classic)},
          {"holds", report.holds()},
          {"sequences", report.sequences},
          {"bursts", report.bursts},
          {"rounds", report.rounds},
          {"drafted", report.drafted},
          {"accepted", report.accepted},
          {"emitted", report.emitted},
          {"compared", report.compared},
          {"failures", std::move(failures)}};
}

/// "line 4: accepted: accepted is 2, not 1 (request 'a', choice 0, ...)".
std::string describe(const engine::transcript_failure& failure) {
  std::string text = failure.line == 0
                         ? std::string{}
                         : "line " + std::to_string(failure.line) + ": ";
  text += engine::name_of(failure.rule);
  text += ": " + failure.detail;
  if (failure.name.request.empty()) return text;
  text += " (request '" + failure.name.request + "', choice " +
          std::to_string(failure.name.choice);
  const auto add = [&text](const char* what, std::int64_t value) {
    if (value >= 0) text += std::string{what} + std::to_string(value);
  };
  add(", burst ", failure.burst);
  add(", round ", failure.round);
  add(", row ", failure.row);
  return text + ")";
}

void print(const engine::transcript_report& report, const options& chosen) {
  std::cout << chosen.file << ": " << report.sequences << " sequences, "
            << report.bursts << " bursts, " << report.rounds << " rounds; "
            << report.drafted << " tokens drafted, " << report.accepted
            << " accepted, " << report.emitted << " emitted";
  if (!chosen.classic.empty()) {
    std::cout << "; " << report.compared << " compared with " << chosen.classic;
  }
  std::cout << '\n';
  std::size_t shown = 0;
  for (const auto& failure : report.failures) {
    if (shown++ == most_shown) {
      std::cout << "... and " << report.failures.size() - most_shown
                << " more\n";
      break;
    }
    std::cout << describe(failure) << '\n';
  }
  std::cout << (report.holds() ? "holds" : "does not hold") << '\n';
}

int check(const options& chosen) {
  const auto entries = engine::parse_transcript(chosen.file, read(chosen.file));
  engine::classic_texts classic;
  if (!chosen.classic.empty()) {
    classic = engine::parse_classic_texts(chosen.classic, read(chosen.classic));
  }
  const auto report = engine::check_transcript(
      entries, chosen.classic.empty() ? nullptr : &classic);
  print(report, chosen);
  if (!chosen.json_file.empty()) {
    std::ofstream out{chosen.json_file};
    out << json::serialize(to_json(report, chosen)) << '\n';
    if (!out.flush()) {
      throw engine::input_error(chosen.json_file, "cannot be written");
    }
  }
  return report.holds() ? exit_ok : exit_failed;
}

}  // namespace

void add_transcript(CLI::App& app, action& chosen) {
  auto* command = app.add_subcommand(
      "transcript",
      "The record of speculative rounds, and whether it is sound.");
  command->require_subcommand(1);
  auto picked = std::make_shared<options>();
  auto* checks = command->add_subcommand(
      "check",
      "Checks a transcript without a model: anchors, acceptance, emission, "
      "cache lengths, widths. Exit status: 0 it holds, 1 it does not, 2 it "
      "cannot be read.");
  checks->add_option("file", picked->file, "Transcript, JSON lines")
      ->required();
  checks->add_option("--classic", picked->classic,
                     "The same requests' texts without speculation: lines of "
                     R"({"request": ..., "choice": ..., "tokens": [...]})");
  checks->add_option("--json", picked->json_file,
                     "File for the report as one JSON object");
  checks->callback(
      [&chosen, picked] { chosen = [picked] { return check(*picked); }; });
}

}  // namespace vouch::cli
