#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include <CLI/CLI.hpp>
#include <caf/all.hpp>

#include "actors/messages.hpp"
#include "runtime/runtime.hpp"

namespace vouch::cli {

/// The options `generate` and `chat` share.
struct generation_options {
  std::string model;
  std::string template_file;
  std::int32_t threads = 0;
  std::string cpu_list;
  std::int64_t max_tokens = -1;
  std::optional<double> temperature;
  std::optional<double> top_p;
  std::optional<int> top_k;
  std::optional<double> min_p;
  std::optional<double> repetition_penalty;
  std::optional<std::uint64_t> seed;
  std::vector<std::string> stop;
  bool quiet = false;
};

void add_generation_options(CLI::App& command, generation_options& into);

/// What a finished request cost.
struct outcome {
  bool ok = false;
  std::string error;
  std::string finish_reason;
  std::int64_t prompt_tokens = 0;
  std::int64_t completion_tokens = 0;
  std::int64_t cached_tokens = 0;
  double seconds_to_first_token = 0.0;
  double seconds = 0.0;
};

/// A runtime of this process's own, for commands that generate without a
/// server. Shows the load on a terminal; throws what the load throws.
class session {
 public:
  explicit session(const generation_options& options);
  ~session();

  const runtime::model_info& model() const;
  /// A request with the options applied over the model's own defaults.
  actors::generation_request request() const;
  /// Runs it, giving every piece of text as it comes; Ctrl-C cancels it, and
  /// so does on_text by returning false.
  outcome run(actors::generation_request request,
              const std::function<bool(const std::string&)>& on_text);

 private:
  generation_options options_;
  std::unique_ptr<caf::actor_system_config> system_config_;
  std::unique_ptr<caf::actor_system> system_;
  std::unique_ptr<runtime::runtime> runtime_;
  runtime::model_info model_;
  std::uint64_t requests_ = 0;
};

}  // namespace vouch::cli
