#include <fstream>
#include <memory>
#include <string>

#include "cli/bisect/report.hpp"
#include "cli/bisect/run.hpp"
#include "cli/commands.hpp"
#include "cli/kernel_options.hpp"
#include "engine/bisect/op_runs.hpp"
#include "engine/error.hpp"

namespace vouch::cli {

namespace {

int carry_out(const bisect::options& chosen) {
  if (chosen.op.empty() && chosen.model.empty()) {
    throw engine::input_error("vouch bisect", "--model is required");
  }
  const auto found = bisect::run(chosen);
  bisect::print(chosen, found);
  if (!chosen.json_file.empty()) {
    std::ofstream out{chosen.json_file};
    out << bisect::to_json(chosen, found);
    if (!out.flush()) {
      throw engine::input_error(chosen.json_file, "cannot be written");
    }
  }
  switch (found.came) {
    case bisect::result::holds:
      return exit_ok;
    case bisect::result::differs:
      return exit_failed;
    default:
      return exit_usage;
  }
}

void add_case(CLI::App& command, bisect::options& o) {
  constexpr std::int64_t many = 1 << 24;
  auto* transcript = command.add_option("--transcript", o.transcript,
                                        "Rounds as they were served");
  auto* evidence = command.add_option(
      "--evidence", o.evidence, "Folder that a trip left, or its trip.json");
  auto* op = command.add_option("--op", o.op, "One kernel alone")
                 ->check(CLI::IsMember(engine::op_names()));
  transcript->excludes(evidence)->excludes(op);
  evidence->excludes(op);
  command
      .add_option("--request", o.request,
                  "Of the transcript; absent: its first")
      ->needs(transcript);
  command.add_option("--choice", o.choice, "Of the request")->needs(transcript);
  command
      .add_option("--text", o.text,
                  "Its tokens from position 0 on: lines of "
                  R"({"request": ..., "choice": ..., "tokens": [...]})")
      ->needs(transcript);
  command.add_option("--prompt", o.prompt, "Without any of these: a prompt");
  command
      .add_option("--prompt-tokens", o.prompt_tokens,
                  "Or so many random tokens")
      ->check(CLI::Range(std::int64_t{1}, many))
      ->capture_default_str();
  command.add_option("--rows", o.rows, "Rows behind the prompt")
      ->check(CLI::Range(std::int64_t{1}, many))
      ->capture_default_str();
  command.add_option("--width", o.width, "Rows of a block")
      ->check(CLI::Range(2, 64))
      ->capture_default_str();
  command
      .add_option("--pattern", o.pattern,
                  "Which drafts are right: all, none, alternating, mixed, "
                  "random, lookup")
      ->capture_default_str();
  command.add_option("--beside", o.beside, "Sequences with a row in each step")
      ->check(CLI::Range(0, 256));
  command.add_flag("--walk", o.walk, "Blocks of one row, against classic rows");
  command.add_option("--temperature", o.temperature, "Of the prompt's text")
      ->check(CLI::Range(0.0, 100.0));
}

}  // namespace

void add_bisect(CLI::App& app, action& chosen) {
  auto* command = app.add_subcommand(
      "bisect",
      "Plays steps again, as they were and row by row, and names the first op "
      "of the first layer that differs. Exit status: 0 no byte differs, 1 one "
      "does, 2 it could not be run.");
  auto picked = std::make_shared<bisect::options>();
  auto& o = *picked;
  command->add_option("-m,--model,model", o.model,
                      "GGUF file or folder of safetensors");
  add_case(*command, o);
  command
      ->add_option("--type", o.types,
                   "Of weights, or of K and V, with --op; repeatable")
      ->take_all();
  command->add_option("--draws", o.draws, "Random inputs, with --op")
      ->check(CLI::Range(1, 1 << 20))
      ->capture_default_str();
  add_kernel_options(*command, o.plan, o.faults, o.threads);
  command->add_option("--kv-type", o.kv_type, "f16 or f32")
      ->check(CLI::IsMember({"f16", "f32"}))
      ->capture_default_str();
  command->add_option("--chunk", o.chunk, "Prompt rows of a step")
      ->check(CLI::Range(1, 1 << 16))
      ->capture_default_str();
  command->add_option("--seed", o.seed, "Of what is random")
      ->capture_default_str();
  command->add_option("--json", o.json_file,
                      "File for the report as one JSON object");
  command->callback(
      [&chosen, picked] { chosen = [picked] { return carry_out(*picked); }; });
}

}  // namespace vouch::cli
