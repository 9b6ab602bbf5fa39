#include "cli/session.hpp"

#include <charconv>
#include <chrono>
#include <csignal>
#include <system_error>
#include <thread>

#include <spdlog/sinks/stdout_color_sinks.h>
#include <spdlog/spdlog.h>

#include "cli/progress_bar.hpp"
#include "engine/error.hpp"
#include "runtime/compute_cpus.hpp"

namespace vouch::cli {

namespace {

using clock = std::chrono::steady_clock;

double seconds_since(clock::time_point start) {
  return std::chrono::duration<double>(clock::now() - start).count();
}

volatile std::sig_atomic_t interrupted = 0;

/// Ctrl-C ends the running request instead of the process.
class interrupt_guard {
 public:
  interrupt_guard() {
    interrupted = 0;
    previous_ = std::signal(SIGINT, [](int) { interrupted = 1; });
  }
  ~interrupt_guard() { std::signal(SIGINT, previous_); }
  interrupt_guard(const interrupt_guard&) = delete;
  interrupt_guard& operator=(const interrupt_guard&) = delete;

 private:
  void (*previous_)(int) = nullptr;
};

}  // namespace

void add_generation_options(CLI::App& command, generation_options& into) {
  command
      .add_option("-m,--model", into.model,
                  "GGUF file or folder of safetensors")
      ->required();
  command.add_option("--chat-template", into.template_file,
                     "A .jinja file instead of the model's own template");
  command
      .add_option("-n,--max-tokens", into.max_tokens,
                  "Tokens to generate; -1: what the context leaves")
      ->check([](const std::string& text) {
        return text == "0" ? std::string{"must be at least 1, or -1"}
                           : std::string{};
      })
      ->check(CLI::Range(std::int64_t{-1}, std::int64_t{1} << 31))
      ->capture_default_str();
  command
      .add_option("--threads", into.threads, "Compute threads; 0: one a core")
      ->check(CLI::Range(0, 1024))
      ->capture_default_str();
  command.add_option("--cpu-list", into.cpu_list,
                     "CPUs of the compute threads, one each: 0-3,8");
  command.add_flag("-q,--quiet", into.quiet, "No statistics at the end");
  auto* group = command.add_option_group(
      "Sampling", "Absent: the model's own defaults, then those named here");
  group->add_option("--temperature", into.temperature, "0 is greedy (1.0)")
      ->check(CLI::Range(0.0, 2.0));
  group->add_option("--top-p", into.top_p, "Nucleus, (0, 1] (1.0)")
      ->check(CLI::Range(1e-9, 1.0));
  group->add_option("--top-k", into.top_k, "Candidates kept; 0: all (0)")
      ->check(CLI::Range(0, 1 << 30));
  group->add_option("--min-p", into.min_p, "Share of the best, [0, 1] (0.0)")
      ->check(CLI::Range(0.0, 1.0));
  group
      ->add_option("--repetition-penalty", into.repetition_penalty,
                   "Over prompt and text; 1 is off (1.0)")
      ->check(CLI::Range(1e-3, 10.0));
  // CLI11 takes the nearest number it can hold without a word.
  group->add_option("--seed", into.seed, "The same seed gives the same text")
      ->check([](const std::string& text) {
        const auto is = [&](auto number) {
          const auto* end = text.data() + text.size();
          const auto read = std::from_chars(text.data(), end, number);
          return read.ec == std::errc{} && read.ptr == end;
        };
        return is(std::uint64_t{}) || is(std::int64_t{})
                   ? std::string{}
                   : "expected a 64-bit integer, given '" + text + "'";
      });
  group->add_option("--stop", into.stop, "Stop string; repeatable");
}

session::session(const generation_options& options) : options_(options) {
  runtime::config settings;
  settings.model.path = options.model;
  settings.model.chat_template = options.template_file;
  settings.engine.threads = options.threads;
  settings.engine.cpu_list = options.cpu_list;
  // Before any thread starts: those of this process but the compute threads.
  runtime::keep_off(
      runtime::compute_cpus(options.cpu_list, options.threads, "--cpu-list"));
  settings.engine.measure_costs = false;
  // One text is over before a gate would have measured anything.
  settings.speculation.drafter = "none";
  settings.speculation.probe = "off";
  // The text goes to standard output, and nothing else does.
  spdlog::set_default_logger(spdlog::stderr_color_mt("vouch"));
  spdlog::set_level(spdlog::level::err);
  system_config_ = std::make_unique<caf::actor_system_config>();
  runtime::configure(*system_config_);
  system_ = std::make_unique<caf::actor_system>(*system_config_);
  runtime_ = std::make_unique<runtime::runtime>(*system_, settings);
  progress_bar bar{"Loading " + file_name(options.model)};
  while (runtime_->current_state() == runtime::state::loading) {
    bar.show(runtime_->load_share());
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  runtime_->wait_until_ready();
  model_ = runtime_->model().value();
}

session::~session() {
  runtime_.reset();
  system_.reset();
}

const runtime::model_info& session::model() const { return model_; }

actors::generation_request session::request() const {
  actors::generation_request made;
  const auto& defaults = model_.defaults;
  const auto real = [](const std::optional<double>& given,
                       const std::optional<double>& model, double otherwise) {
    return static_cast<float>(given ? *given : model.value_or(otherwise));
  };
  auto& sampling = made.sampling;
  sampling.temperature = real(options_.temperature, defaults.temperature, 1.0);
  sampling.top_p = real(options_.top_p, defaults.top_p, 1.0);
  sampling.min_p = real(options_.min_p, defaults.min_p, 0.0);
  sampling.repetition_penalty =
      real(options_.repetition_penalty, defaults.repetition_penalty, 1.0);
  sampling.top_k =
      options_.top_k ? *options_.top_k : defaults.top_k.value_or(0);
  made.has_seed = options_.seed.has_value();
  sampling.seed = options_.seed.value_or(0);
  made.max_tokens = options_.max_tokens;
  made.stop = options_.stop;
  return made;
}

outcome session::run(actors::generation_request request,
                     const std::function<bool(const std::string&)>& on_text) {
  request.id = "local-" + std::to_string(++requests_);
  const auto id = request.id;
  interrupt_guard guard;
  caf::scoped_actor self{*system_};
  const auto begin = clock::now();
  runtime_->submit(std::move(request),
                   caf::actor_cast<actors::client_actor>(self.ptr()));
  outcome result;
  bool done = false;
  bool first = true;
  while (!done) {
    self->receive([&](const actors::started&) {},
                  [&](const actors::tokens& event) {
                    if (first && !event.emitted.empty()) {
                      result.seconds_to_first_token = seconds_since(begin);
                      first = false;
                    }
                    if (!on_text(event.text)) {
                      runtime_->cancel(id);
                    }
                    if (!event.finish_reason.empty()) {
                      result.finish_reason = event.finish_reason;
                    }
                  },
                  [&](const actors::finished& event) {
                    result.ok = true;
                    result.prompt_tokens = event.prompt_tokens;
                    result.completion_tokens = event.completion_tokens;
                    result.cached_tokens = event.cached_tokens;
                    done = true;
                  },
                  [&](const actors::failed& event) {
                    result.error = event.message;
                    done = true;
                  },
                  caf::after(std::chrono::milliseconds(50)) >> [] {});
    // Tokens may come faster than any pause, so the flag is looked at always.
    if (interrupted != 0) {
      interrupted = 0;
      runtime_->cancel(id);
    }
  }
  result.seconds = seconds_since(begin);
  return result;
}

}  // namespace vouch::cli
