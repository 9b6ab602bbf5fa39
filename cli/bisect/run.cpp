#include "cli/bisect/run.hpp"

#include <algorithm>
#include <filesystem>
#include <random>

#include "cli/kernel_options.hpp"
#include "engine/checkpoint/checkpoint.hpp"
#include "engine/error.hpp"
#include "engine/faults/fault_plan.hpp"
#include "engine/file_text.hpp"
#include "engine/gate/evidence.hpp"
#include "engine/models/model.hpp"
#include "engine/tokenizer/tokenizer.hpp"
#include "kernels/cores.hpp"
#include "kernels/dispatch.hpp"
#include "kernels/thread_pool.hpp"

namespace vouch::cli::bisect {
namespace {

constexpr std::size_t max_transcript_bytes = std::size_t{4} << 30U;

std::shared_ptr<const engine::fault_plan> faults_of(const options& chosen) {
  auto plan = read_faults(chosen.faults);
  if (plan == nullptr) return nullptr;
  for (const auto& each : plan->specs()) {
    if (each.site >= engine::fault_site::prefix_cache) {
      throw engine::input_error(
          "--fault",
          "'" + each.text() +
              "' lies in the schedule, which is not played here (vouch probe)");
    }
  }
  return plan;
}

engine::draft_pattern pattern_of(const options& chosen) {
  using engine::draft_pattern;
  if (chosen.walk) return draft_pattern::classic;
  for (const auto each :
       {draft_pattern::all, draft_pattern::none, draft_pattern::alternating,
        draft_pattern::mixed, draft_pattern::random, draft_pattern::lookup}) {
    if (engine::name_of(each) == chosen.pattern) return each;
  }
  throw engine::input_error(
      "--pattern",
      "expected all, none, alternating, mixed, random or lookup, "
      "got '" +
          chosen.pattern + "'");
}

engine::bisect_case from_transcript(const options& chosen,
                                    engine::bisect_sources sources) {
  const auto entries = engine::parse_transcript(
      chosen.transcript,
      engine::read_input_text(chosen.transcript, max_transcript_bytes));
  engine::classic_texts texts;
  if (!chosen.text.empty()) {
    texts = engine::parse_classic_texts(
        chosen.text,
        engine::read_input_text(chosen.text, max_transcript_bytes));
    sources.text = [&](const engine::sequence_name& name) {
      const auto found = texts.find(name);
      if (found == texts.end()) {
        throw engine::input_error(
            chosen.text, "has no line of request '" + name.request + "'");
      }
      return found->second;
    };
  }
  engine::sequence_name name{chosen.request, chosen.choice};
  if (chosen.request.empty()) {
    for (const auto& entry : entries) {
      const auto* first =
          std::get_if<engine::transcript_sequence>(&entry.record);
      if (first == nullptr) continue;
      name = first->name;
      break;
    }
  }
  return engine::case_of_transcript(chosen.transcript, entries, name, sources);
}

engine::bisect_case from_evidence(const options& chosen,
                                  const engine::bisect_sources& sources) {
  std::filesystem::path file = chosen.evidence;
  if (std::filesystem::is_directory(file)) file /= "trip.json";
  return engine::case_of_evidence(
      engine::parse_evidence(file.string(),
                             engine::read_input_text(file.string())),
      sources);
}

/// What a loaded model needs to be played on.
class bench {
 public:
  explicit bench(const options& chosen)
      : chosen_{chosen}, faults_{faults_of(chosen)} {
    const auto source = engine::open_checkpoint(chosen.model);
    kernels::thread_pool pool{chosen.threads > 0 ? chosen.threads
                                                 : kernels::available_cores()};
    weights_ = engine::load_model(*source, pool);
    sources_.vocabulary =
        static_cast<engine::token_id>(weights_->config().vocab_size);
    sources_.chunk = chosen.chunk;
    sources_.seed = chosen.seed;
  }

  const std::shared_ptr<const engine::fault_plan>& faults() const {
    return faults_;
  }

  std::unique_ptr<engine::executor> device(
      const engine::executor_limits& needs) const {
    engine::cpu_executor_options made;
    made.threads = chosen_.threads;
    made.kv_type =
        chosen_.kv_type == "f32" ? kernels::dtype::f32 : kernels::dtype::f16;
    made.blocks = needs.blocks;
    made.slots = needs.slots;
    made.step_rows = needs.step_rows;
    made.faults = faults_;
    made.plan = read_plan(chosen_.plan);
    return engine::make_cpu_executor(weights_, made);
  }

  engine::bisect_case make_case() const {
    if (!chosen_.transcript.empty()) return from_transcript(chosen_, sources_);
    if (!chosen_.evidence.empty()) return from_evidence(chosen_, sources_);
    return from_pattern();
  }

  std::int64_t positions() const { return weights_->config().max_position; }

 private:
  engine::bisect_case from_pattern() const {
    engine::pattern_options o;
    if (!chosen_.prompt.empty()) {
      const auto words = engine::load_tokenizer(chosen_.model);
      o.prompt = words->encode(chosen_.prompt, {});
    }
    std::mt19937_64 random{chosen_.seed};
    while (chosen_.prompt.empty() &&
           static_cast<std::int64_t>(o.prompt.size()) < chosen_.prompt_tokens) {
      o.prompt.push_back(static_cast<engine::token_id>(
          random() % static_cast<std::uint64_t>(sources_.vocabulary)));
    }
    o.sampling.temperature = static_cast<float>(chosen_.temperature);
    o.sampling.seed = chosen_.seed;
    o.sampling.vocab_limit = sources_.vocabulary;
    o.rows = chosen_.rows;
    o.width = chosen_.width;
    o.pattern = pattern_of(chosen_);
    o.beside = chosen_.beside;
    const auto end =
        static_cast<std::int64_t>(o.prompt.size()) + o.rows + o.width;
    if (o.prompt.empty() || end > positions()) {
      throw engine::input_error(
          chosen_.model,
          "a prompt of " + std::to_string(o.prompt.size()) + " tokens and " +
              std::to_string(o.rows) + " rows need " + std::to_string(end) +
              " positions, and there are " + std::to_string(positions()));
    }
    engine::executor_limits needs;
    needs.blocks = static_cast<std::int32_t>(end / 16 + 1);
    needs.slots = 1;
    needs.step_rows = sources_.chunk;
    return engine::case_of_pattern(*device(needs), o, sources_);
  }

  const options& chosen_;
  std::shared_ptr<const engine::fault_plan> faults_;
  std::shared_ptr<engine::model> weights_;
  engine::bisect_sources sources_;
};

outcome run_case(const options& chosen) {
  outcome out;
  const bench with{chosen};
  out.played = with.make_case();
  const auto needs = engine::needs_of(out.played, with.positions());
  out.device = with.device(needs)->description();
  if (with.faults()) out.faults = with.faults()->text();
  const auto& report = out.report =
      engine::bisect([&] { return with.device(needs); }, out.played);
  if (!report.error.empty()) {
    out.why = report.error;
  } else if (report.rows == 0) {
    out.why = "no row was compared";
  } else if (with.faults() && report.faulted_rows == 0) {
    out.why = "the planted fault changed no row";
  }
  out.came = !out.why.empty() ? result::showed_nothing
             : report.first   ? result::differs
                              : result::holds;
  return out;
}

std::vector<kernels::dtype> types_of(const options& chosen) {
  std::vector<kernels::dtype> out;
  for (const auto& name : chosen.types) {
    const auto before = out.size();
    for (int i = 0; i <= static_cast<int>(kernels::dtype::q6_k); ++i) {
      const auto type = static_cast<kernels::dtype>(i);
      std::string known{kernels::traits(type).name};
      std::string asked = name;
      const auto lower = [](unsigned char c) { return std::tolower(c); };
      std::transform(known.begin(), known.end(), known.begin(), lower);
      std::transform(asked.begin(), asked.end(), asked.begin(), lower);
      if (known == asked) out.push_back(type);
    }
    if (out.size() == before) {
      throw engine::input_error("--type", "'" + name + "' is no type");
    }
  }
  return out;
}

outcome run_ops(const options& chosen) {
  if (!chosen.faults.empty()) {
    throw engine::input_error(
        "--fault", "--op runs kernels alone, and faults lie in steps");
  }
  engine::op_options o;
  o.op = chosen.op;
  o.types = types_of(chosen);
  o.plan = read_plan(chosen.plan);
  if (!chosen.model.empty()) {
    o.model = engine::open_checkpoint(chosen.model)->config();
  }
  const int threads =
      chosen.threads > 0 ? chosen.threads : kernels::available_cores();
  kernels::thread_pool pool{threads};
  outcome out;
  out.device = "cpu " + kernels::active_target() + ", " +
               std::to_string(threads) + " threads";
  std::vector<std::unique_ptr<engine::op_subject>> subjects;
  try {
    subjects = engine::op_subjects(o, pool);
  } catch (const std::invalid_argument& error) {
    throw engine::input_error("--op", error.what());
  }
  for (const auto& each : subjects) {
    out.ops.push_back(engine::run_op(*each, chosen.draws, chosen.seed));
    if (out.ops.back().first) out.came = result::differs;
  }
  return out;
}

}  // namespace

outcome run(const options& chosen) {
  if (!chosen.op.empty()) return run_ops(chosen);
  return run_case(chosen);
}

}  // namespace vouch::cli::bisect
