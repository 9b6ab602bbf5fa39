#include <iostream>
#include <memory>
#include <string>
#include <vector>

#include "cli/bench/figures.hpp"
#include "cli/bench/sweep.hpp"
#include "cli/commands.hpp"
#include "engine/error.hpp"
#include "kernels/dispatch.hpp"
#include "kernels/plan.hpp"

namespace vouch::cli {

namespace {

std::string joined(const std::vector<std::string>& words) {
  std::string text;
  for (const auto& word : words) text += (text.empty() ? "" : ", ") + word;
  return text;
}

/// Whether every arm that promises it has the text of classic is what the
/// command checks.
int run_arms(const bench::options& chosen) {
  const auto found = bench::run_sweep(chosen);
  if (chosen.as_json) {
    bench::print_sweep_json(chosen, found);
  } else {
    bench::print_sweep_text(chosen, found);
  }
  return found.texts_hold() ? exit_ok : exit_failed;
}

int run(const bench::options& chosen) {
  if (!chosen.target.empty() && !kernels::select_target(chosen.target)) {
    throw engine::input_error(
        "--target", "'" + chosen.target + "' does not run here; what does: " +
                        joined(kernels::supported_targets()));
  }
  if (chosen.sweep || chosen.price_list) return run_arms(chosen);
  const auto found = bench::measure(chosen);
  if (chosen.as_json) {
    bench::print_json(chosen, found);
  } else {
    bench::print_text(chosen, found);
  }
  return exit_ok;
}

/// A list of positive numbers, separated by commas or spaces.
CLI::Option* add_list(CLI::App& command, const std::string& name,
                      std::vector<std::int32_t>& into, std::int32_t most,
                      const std::string& help) {
  return command.add_option(name, into, help)
      ->delimiter(',')
      ->check(CLI::Range(1, most))
      ->capture_default_str();
}

}  // namespace

void add_bench(CLI::App& app, action& chosen) {
  constexpr std::int32_t many = 1 << 20;
  auto* command = app.add_subcommand(
      "bench",
      "Times a model in this process, against what the machine can do.");
  auto picked = std::make_shared<bench::options>();
  auto& o = *picked;
  command
      ->add_option("-m,--model,model", o.model,
                   "GGUF file or folder of safetensors")
      ->required();
  auto* only =
      command
          ->add_option(
              "--only", o.only,
              "Parts to measure: load, prefill, decode, verify, sampled, "
              "contexts, parts, plans (all, plans only with --plan fast)")
          ->delimiter(',')
          ->check(CLI::IsMember(std::vector<std::string>{
              bench::part_names.begin(), bench::part_names.end()}));
  command->add_flag("--json", o.as_json, "One JSON object");
  command->add_option("--repeat", o.repeat, "Rounds, after one that is dropped")
      ->check(CLI::Range(1, 1000))
      ->capture_default_str();
  command->add_option("--threads", o.threads, "Compute threads; 0: one a core")
      ->check(CLI::Range(0, 1024));
  command->add_option("--cpu-list", o.cpu_list,
                      "CPUs of the compute threads, one each: 0-3,8");
  command->add_option("--target", o.target,
                      "Instruction set of the kernels (the best)");
  command->add_option("--kv-type", o.kv_type, "f16 or f32")
      ->check(CLI::IsMember({"f16", "f32"}))
      ->capture_default_str();
  auto* plan =
      command->add_option("--plan", o.plan, "Kernel plan: invariant or fast")
          ->check(CLI::IsMember(
              {kernels::plan_name(kernels::kernel_plan::invariant),
               kernels::plan_name(kernels::kernel_plan::fast)}))
          ->capture_default_str();
  auto* prompt =
      command->add_option("--prompt", o.prompt, "Tokens of the prompt")
          ->check(CLI::Range(1, many))
          ->capture_default_str();
  command
      ->add_option("--chunk", o.chunk,
                   "Prompt tokens that a step takes at most")
      ->check(CLI::Range(1, 1 << 16))
      ->capture_default_str();
  auto* tokens =
      command
          ->add_option(
              "--tokens", o.tokens,
              "Steps of each figure in a round; decode generates as many "
              "tokens; with --sweep or --price-list tokens of a stream "
              "(128)")
          ->check(CLI::Range(1, many))
          ->capture_default_str();
  auto* depth =
      command
          ->add_option("--depth", o.depth,
                       "Tokens of context before decode and verify begin")
          ->check(CLI::Range(0, many))
          ->capture_default_str();
  add_list(*command, "--batches", o.batches, 1024, "Sequences of decode");
  auto* widths =
      add_list(*command, "--widths", o.widths, 1024,
               "Rows of a verify step: one sequence, logits on every row");
  add_list(*command, "--sampled", o.sampled, 1024,
           "Sequences of sampled decode, beside greedy decode");
  auto* contexts =
      add_list(*command, "--contexts", o.contexts, many,
               "Tokens of context at which long-context decode ends");
  auto* arms = command->add_option_group(
      "Arms", "Whole texts instead of parts, with drafts from a script");
  auto* sweep = arms->add_flag("--sweep", o.sweep,
                               "Each of --widths beside classic decoding");
  auto* price_list =
      arms->add_flag("--price-list", o.price_list,
                     "What exactness costs: A fast without bursts, B bursts on "
                     "invariant, D inexact bursts on fast");
  auto* streams = add_list(*arms, "--streams", o.streams, 1024,
                           "Streams at once (1; with --price-list 1, 8)");
  arms->add_option("--accept", o.accept,
                   "Probability that a draft is right, at each position")
      ->check(CLI::Range(0.0, 1.0))
      ->capture_default_str();
  sweep->excludes(price_list);
  price_list->excludes(plan);
  only->excludes(sweep)->excludes(price_list);
  command->footer(
      "Everything goes through the executor that serves, without actors and "
      "HTTP. A round\nruns each figure once, so that a machine that drifts "
      "drifts for all. The limits are\nmeasured in the same rounds: a read of "
      "memory that no cache holds, and 8-bit dot\nproducts in registers. A "
      "decode step's share: bytes of weights, keys and values; a\nprompt's: "
      "multiply-adds with quantised weights, two operations each.");
  command->callback(
      [&chosen, picked, prompt, depth, contexts, tokens, widths, streams] {
        picked->prompt_given = prompt->count() > 0;
        picked->depth_given = depth->count() > 0;
        picked->contexts_given = contexts->count() > 0;
        picked->tokens_given = tokens->count() > 0;
        picked->widths_given = widths->count() > 0;
        picked->streams_given = streams->count() > 0;
        picked->set_arm_defaults();
        chosen = [picked] { return run(*picked); };
      });
}

}  // namespace vouch::cli
