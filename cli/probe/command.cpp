#include <fstream>
#include <iostream>
#include <memory>
#include <string>

#include "cli/commands.hpp"
#include "cli/kernel_options.hpp"
#include "cli/probe/report.hpp"
#include "cli/probe/run.hpp"
#include "engine/checkpoint/checkpoint.hpp"
#include "engine/error.hpp"
#include "engine/gate/verdict_store.hpp"

namespace vouch::cli {

namespace {

int clear(const probe::options& chosen) {
  const auto folder = chosen.verdicts.empty()
                          ? engine::verdict_store::default_folder()
                          : std::filesystem::path{chosen.verdicts};
  const auto model = engine::open_checkpoint(chosen.model)->fingerprint();
  const auto gone = engine::verdict_store{folder}.clear(model);
  for (const auto& each : gone) std::cout << "cleared " << each << '\n';
  std::cout << gone.size() << " stored scopes of this model cleared in "
            << folder.string() << '\n';
  return exit_ok;
}

int run(const probe::options& chosen) {
  if (chosen.clear) return clear(chosen);
  probe::print_head();
  const auto found = probe::run(chosen, probe::print_line);
  probe::print_end(found);
  if (!chosen.json_file.empty()) {
    std::ofstream out{chosen.json_file};
    out << probe::to_json(chosen, found);
    if (!out.flush()) {
      throw engine::input_error(chosen.json_file, "cannot be written");
    }
  }
  switch (probe::result_of(found)) {
    case probe::result::holds:
      return exit_ok;
    case probe::result::differs:
      return exit_failed;
    default:
      return exit_usage;
  }
}

}  // namespace

void add_probe(CLI::App& app, action& chosen) {
  auto* command = app.add_subcommand(
      "probe",
      "Measures whether bursts, batches, cut prompts and cached prefixes give "
      "the bytes that one sequence alone gives. Exit status: 0 they do, 1 they "
      "do not, 2 it could not be run.");
  auto picked = std::make_shared<probe::options>();
  auto& o = *picked;
  constexpr std::int64_t many = 1 << 24;
  command
      ->add_option("-m,--model,model", o.model,
                   "GGUF file or folder of safetensors")
      ->required();
  command
      ->add_option("--drafter", o.drafter,
                   "Probed live as well: none, lookup, or a drafter's path")
      ->capture_default_str();
  command->add_option("--widths", o.widths, "Rows of verify blocks")
      ->delimiter(',')
      ->check(CLI::Range(2, 64))
      ->capture_default_str();
  command->add_option("--walk", o.walk, "Rows past a prompt")
      ->check(CLI::Range(std::int64_t{8}, many))
      ->capture_default_str();
  command
      ->add_option("--prompt-len", o.prompt_tokens,
                   "Tokens of the long synthetic prompt; 0: what --positions "
                   "asks for")
      ->check(CLI::Range(std::int64_t{0}, many))
      ->capture_default_str();
  command
      ->add_option("--positions", o.positions,
                   "Vouch for rows below this position")
      ->check(CLI::Range(std::int64_t{64}, many))
      ->capture_default_str();
  command->add_flag("--all-positions", o.all_positions,
                    "Go on to the end of the context");
  command
      ->add_option("--rows", o.rows,
                   "Go on with random mixes until so many rows of logits were "
                   "compared")
      ->check(CLI::Range(std::int64_t{0}, std::int64_t{1} << 40))
      ->capture_default_str();
  command->add_option("--prompts", o.prompts_file,
                      "File with a prompt a line, instead of those built in");
  add_kernel_options(*command, o.plan, o.faults, o.threads);
  command->add_option("--seed", o.seed, "Of synthetic prompts and mixes")
      ->capture_default_str();
  command->add_option("--cpu-list", o.cpu_list,
                      "CPUs of the compute threads, one each: 0-3,8");
  command->add_option("--kv-type", o.kv_type, "f16 or f32")
      ->check(CLI::IsMember({"f16", "f32"}))
      ->capture_default_str();
  command->add_option("--kv-memory-mib", o.kv_memory_mib, "KV cache")
      ->check(CLI::Range(std::int64_t{1}, std::int64_t{1} << 30))
      ->capture_default_str();
  command
      ->add_option("--max-context", o.max_context,
                   "Tokens of context; 0: the model's own")
      ->check(CLI::Range(std::int32_t{0}, std::int32_t{1} << 30));
  command->add_option("--step-tokens", o.step_tokens, "Rows of a step")
      ->check(CLI::Range(1, 1 << 16))
      ->capture_default_str();
  command->add_option("--chunk", o.chunk, "Prompt rows of a step")
      ->check(CLI::Range(1, 1 << 16))
      ->capture_default_str();
  command->add_option("--json", o.json_file,
                      "File for the report as one JSON object");
  command->add_option(
      "--verdicts", o.verdicts,
      "Folder of stored verdicts (vouch/verdicts in the cache)");
  command->add_flag(
      "--clear", o.clear,
      "Only forget what is stored for this model, trips included");
  command->callback(
      [&chosen, picked] { chosen = [picked] { return run(*picked); }; });
}

}  // namespace vouch::cli
