// What actors and HTTP cost besides the model: serves with an executor that
// answers at once and prints one JSON object, CPU time per token and per
// request of this process with it.
//
//   serving_bench --streams 1000                 over HTTP, with load_client
//   serving_bench --streams 1000 --direct        runtime::submit, no HTTP
//   serving_bench --streams 32 --step-us 17000   paced as a model would

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <iostream>
#include <memory>
#include <stdexcept>
#include <string>
#include <sys/resource.h>
#include <sys/wait.h>

#include <CLI/CLI.hpp>
#include <boost/json.hpp>
#include <spdlog/spdlog.h>

#include "bench/serving/cpu_times.hpp"
#include "bench/serving/direct_load.hpp"
#include "bench/serving/instant_executor.hpp"
#include "http/server.hpp"
#include "runtime/runtime.hpp"
#include "tests/support/fake_model.hpp"

namespace {

using namespace vouch;
namespace json = boost::json;

struct options {
  int streams = 1000;
  int requests = 2;
  std::int64_t tokens = 128;
  std::int64_t step_us = 0;
  int prompt_words = 16;
  bool direct = false;
  std::string load_client;
};

struct system_config : caf::actor_system_config {
  system_config() { runtime::configure(*this); }
};

std::string output_of(const std::string& command) {
  std::unique_ptr<std::FILE, int (*)(std::FILE*)> pipe{
      popen(command.c_str(), "r"), pclose};
  if (!pipe) throw std::runtime_error{"cannot run " + command};
  std::string text;
  std::array<char, 4096> buffer{};
  while (const auto count =
             std::fread(buffer.data(), 1, buffer.size(), pipe.get())) {
    text.append(buffer.data(), count);
  }
  const int status = pclose(pipe.release());
  if (text.empty())
    throw std::runtime_error{command + ": exit status " +
                             std::to_string(WEXITSTATUS(status))};
  return text;
}

runtime::components fake_model(const options& chosen) {
  constexpr std::int32_t context = 4096;
  // Room for all of a run's tokens, which nobody reads.
  engine::executor_limits limits{1 << 16, chosen.streams, 8192, context};
  auto parts = test::make_fake_components();
  parts.info.max_context = context;
  parts.parts.make_executor = [limits, step = chosen.step_us] {
    return bench::make_instant_executor(limits,
                                        std::chrono::microseconds{step});
  };
  return parts;
}

/// Serves one run; the load client's report, or the same of run_direct.
class served_run {
 public:
  explicit served_run(const options& chosen) : chosen_{chosen} {
    settings_.server.port = 0;
    settings_.server.max_connections = chosen.streams + 64;
    auto& limits = settings_.policy.limits;
    limits.max_running = chosen.streams;
    limits.max_queued_requests = 2 * chosen.streams;
    limits.step_tokens = 8192;
    settings_.policy.prefill.max_parallel = 64;
    model_ = std::make_unique<runtime::runtime>(system_, settings_,
                                                fake_model(chosen));
    model_->wait_until_ready();
    server_ = std::make_unique<http::server>(system_, *model_, settings_);
    port_ = server_->start();
  }

  json::object load(int requests, std::int64_t tokens) {
    if (chosen_.direct) {
      const auto begin = std::chrono::steady_clock::now();
      const auto records =
          bench::run_direct(system_, *model_, chosen_.streams, requests, tokens,
                            static_cast<std::size_t>(chosen_.prompt_words) * 6);
      const std::chrono::duration<double> took =
          std::chrono::steady_clock::now() - begin;
      return bench::summarize(records, took.count());
    }
    return json::parse(output_of(chosen_.load_client + " http://127.0.0.1:" +
                                 std::to_string(port_) + " --clients " +
                                 std::to_string(chosen_.streams) +
                                 " --requests " + std::to_string(requests) +
                                 " --max-tokens " + std::to_string(tokens) +
                                 " --prompt-words " +
                                 std::to_string(chosen_.prompt_words)))
        .as_object();
  }

  std::uint64_t steps() const { return model_->stats().steps; }

 private:
  const options& chosen_;
  system_config config_;
  caf::actor_system system_{config_};
  runtime::config settings_;
  std::unique_ptr<runtime::runtime> model_;
  std::unique_ptr<http::server> server_;
  std::uint16_t port_ = 0;
};

double sum(const std::map<std::string, double>& times) {
  double total = 0;
  for (const auto& [name, seconds] : times) total += seconds;
  return total;
}

int run(options chosen, const std::string& own_path) {
  if (chosen.load_client.empty()) {
    chosen.load_client =
        (std::filesystem::path{own_path}.parent_path() / "../http/load_client")
            .string();
  }
  rlimit files{};
  getrlimit(RLIMIT_NOFILE, &files);
  files.rlim_cur = files.rlim_max;
  setrlimit(RLIMIT_NOFILE, &files);
  spdlog::set_level(spdlog::level::warn);

  served_run served{chosen};
  served.load(1, 1);  // connections, pages and pools
  auto before = bench::cpu_seconds_by_thread();
  const auto short_report = served.load(chosen.requests, 1);
  const double per_request =
      (sum(bench::cpu_seconds_by_thread()) - sum(before)) /
      short_report.at("requests").to_number<double>();
  before = bench::cpu_seconds_by_thread();
  const auto steps = served.steps();
  auto report = served.load(chosen.requests, chosen.tokens);
  const auto after = bench::cpu_seconds_by_thread();
  const auto requests = report.at("requests").to_number<double>();
  const auto tokens = report.at("tokens").to_number<double>();
  const auto cpu = sum(after) - sum(before);

  json::object shown;
  shown["mode"] = chosen.direct ? "direct" : "http";
  shown["streams"] = chosen.streams;
  shown["step_us"] = chosen.step_us;
  shown["steps"] = served.steps() - steps;
  for (auto& [key, value] : report) shown[key] = std::move(value);
  shown["server_cpu_s"] = cpu;
  // A request of one token is what a request costs; the rest is the tokens'.
  shown["cpu_us_per_request"] = 1e6 * per_request;
  shown["cpu_us_per_token"] =
      1e6 * (cpu - requests * per_request) / std::max(tokens - requests, 1.0);
  json::object threads;
  for (const auto& [name, seconds] : after) {
    const auto found = before.find(name);
    const auto used = seconds - (found == before.end() ? 0 : found->second);
    if (used > 0) threads[name] = 1e6 * used / tokens;
  }
  shown["cpu_us_per_token_by_thread"] = std::move(threads);
  std::cout << json::serialize(shown) << std::endl;
  return report.at("errors").as_int64() > 0 ? 1 : 0;
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app{"What actors and HTTP cost besides the model; prints JSON."};
  options chosen;
  app.add_option("--streams", chosen.streams, "Requests at a time")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  app.add_option("--requests", chosen.requests, "Requests of each stream")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  app.add_option("--tokens", chosen.tokens, "Tokens of each request")
      ->check(CLI::Range(2, 3000))
      ->capture_default_str();
  app.add_option("--step-us", chosen.step_us, "Microseconds a step takes")
      ->check(CLI::NonNegativeNumber)
      ->capture_default_str();
  app.add_option("--prompt-words", chosen.prompt_words)
      ->check(CLI::Range(1, 100))
      ->capture_default_str();
  app.add_flag("--direct", chosen.direct, "runtime::submit instead of HTTP");
  app.add_option("--load-client", chosen.load_client,
                 "Default: the one built beside this program");
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : 2;
  }
  try {
    return run(chosen, argv[0]);
  } catch (const std::exception& error) {
    std::cerr << "serving_bench: " << error.what() << '\n';
    return 2;
  }
}
