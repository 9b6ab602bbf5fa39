#include <algorithm>
#include <fstream>
#include <iostream>
#include <memory>
#include <sstream>
#include <string>
#include <utility>

#include "cli/commands.hpp"
#include "cli/compare/arms.hpp"
#include "cli/compare/judge.hpp"
#include "cli/compare/options.hpp"
#include "cli/compare/report.hpp"
#include "cli/kernel_options.hpp"
#include "engine/error.hpp"
#include "engine/file_text.hpp"
#include "engine/speculation/width_set.hpp"

namespace vouch::cli {

namespace {

/// Something to copy, something to make up, code, a list, other scripts.
constexpr const char* built_in[] = {
    "The ferry leaves at nine. The ferry leaves at ten. The ferry leaves at",
    "The keeper of the lighthouse counted the stairs every evening, and",
    "def is_prime(n):\n    \"\"\"Says whether n is a prime number.\"\"\"\n",
    "Monday: 12 degrees, rain\nTuesday: 13 degrees, rain\nWednesday: 12 "
    "degrees, rain\nThursday:",
    "red green blue red green blue red green blue red green blue red green",
    "Příliš žluťoučký kůň úpěl ďábelské ódy. 道可道,非常道。",
};

std::vector<std::string> prompts_of(const compare::options& chosen) {
  if (chosen.prompts_file.empty()) {
    return {std::begin(built_in), std::end(built_in)};
  }
  std::vector<std::string> prompts;
  std::istringstream lines{engine::read_input_text(chosen.prompts_file)};
  std::string line;
  while (std::getline(lines, line)) {
    if (!line.empty()) prompts.push_back(line);
  }
  if (prompts.empty()) {
    throw engine::input_error(chosen.prompts_file, "holds no prompt");
  }
  return prompts;
}

void check(const compare::options& chosen) {
  const bool servers = !chosen.urls.empty();
  if (servers == !chosen.model.empty()) {
    throw engine::input_error("compare",
                              "expected a model or --url, one of them");
  }
  if (servers && chosen.bytes) {
    throw engine::input_error(
        "--bytes", "answers of a server have no hashes: give the model");
  }
  if (servers && !chosen.faults.empty()) {
    throw engine::input_error("--fault",
                              "a server plants its own (test.faults)");
  }
  if (!servers && !chosen.transcript.empty()) {
    throw engine::input_error("--transcript", "is a server's: give --url");
  }
}

int run(const compare::options& chosen) {
  check(chosen);
  const auto prompts = prompts_of(chosen);
  const auto arms =
      chosen.urls.empty()
          ? compare::run_model(chosen, prompts, compare::print_arm)
          : compare::run_servers(chosen, prompts, compare::print_arm);
  std::vector<compare::verdict> verdicts;
  for (const auto& each : arms) {
    verdicts.push_back(compare::judge(arms.front(), each, chosen.bytes));
  }
  compare::print_verdicts(arms, verdicts);
  if (!chosen.json_file.empty()) {
    std::ofstream out{chosen.json_file};
    out << compare::to_json(chosen, prompts, arms, verdicts);
    if (!out.flush()) {
      throw engine::input_error(chosen.json_file, "cannot be written");
    }
  }
  const bool holds =
      std::all_of(verdicts.begin(), verdicts.end(),
                  [](const auto& verdict) { return verdict.holds(); });
  std::cout << (holds ? "holds" : "does not hold") << '\n';
  return holds ? exit_ok : exit_failed;
}

void add_sampling(CLI::App& command, compare::options& o) {
  command.add_option("--temperature", o.temperature, "0: greedy")
      ->check(CLI::Range(0.0, 2.0))
      ->capture_default_str();
  command.add_option("--top-p", o.top_p, "Smallest share of the distribution")
      ->check(CLI::Range(0.000001, 1.0))
      ->capture_default_str();
  command.add_option("--presence-penalty", o.presence_penalty)
      ->check(CLI::Range(-2.0, 2.0))
      ->capture_default_str();
  command.add_option("--frequency-penalty", o.frequency_penalty)
      ->check(CLI::Range(-2.0, 2.0))
      ->capture_default_str();
  command.add_option("--repetition-penalty", o.repetition_penalty)
      ->check(CLI::Range(0.000001, 10.0))
      ->capture_default_str();
  command.add_option("--seed", o.seed, "Of the noise")
      ->check(CLI::Range(std::uint64_t{0}, std::uint64_t{1} << 53U))
      ->capture_default_str();
}

}  // namespace

void add_compare(CLI::App& app, action& chosen) {
  auto* command = app.add_subcommand(
      "compare",
      "Runs prompts classically twice and with speculation twice, and compares "
      "every answer with the first classic one. Exit status: 0 they are equal, "
      "1 they are not, or nothing ran, 2 it could not be run.");
  auto picked = std::make_shared<compare::options>();
  auto& o = *picked;
  command->add_option(
      "-m,--model,model", o.model,
      "GGUF file or folder of safetensors, run in this process");
  command
      ->add_option("--url", o.urls,
                   "A running server instead, http://HOST:PORT; repeatable: "
                   "the first one answers classically too")
      ->take_all();
  command
      ->add_option("--drafter", o.drafters,
                   "lookup, scripted:SCRIPT or a drafter's path; repeatable "
                   "(with a model)")
      ->take_all()
      ->capture_default_str();
  command
      ->add_option("--widths", o.widths,
                   "Rows of verify blocks, an arm each (with a model)")
      ->delimiter(',')
      ->check(CLI::Range(2, engine::max_round_width))
      ->capture_default_str();
  command->add_option("--runs", o.runs, "Of every arm")
      ->check(CLI::Range(2, 100))
      ->capture_default_str();
  command->add_option("--prompts", o.prompts_file,
                      "File with a prompt a line, instead of those built in");
  command->add_option("--max-tokens", o.max_tokens, "Of an answer")
      ->check(CLI::Range(std::int64_t{1}, std::int64_t{1} << 24))
      ->capture_default_str();
  command->add_option("--parallel", o.parallel, "Requests at once")
      ->check(CLI::Range(1, 256))
      ->capture_default_str();
  add_sampling(*command, o);
  command->add_flag("--bytes", o.bytes,
                    "Compare a hash of every row of logits too (with a model)");
  add_kernel_options(*command, o.plan, o.faults, o.threads);
  command->add_option("--cpu-list", o.cpu_list,
                      "CPUs of the compute threads, one each: 0-3,8");
  command->add_option("--api-key", o.api_key, "For a server")
      ->envname("VOUCH_API_KEY");
  command->add_option("--transcript", o.transcript,
                      "The server's speculation.transcript: what was accepted "
                      "by position");
  command->add_option("--json", o.json_file,
                      "File for the report as one JSON object");
  command->callback(
      [&chosen, picked] { chosen = [picked] { return run(*picked); }; });
}

}  // namespace vouch::cli
