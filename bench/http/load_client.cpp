// Streams from an OpenAI-compatible server with many connections and one
// thread, and prints what it saw as one JSON object, its own CPU time with it.
//
//   load_client http://127.0.0.1:8080 --clients 32 --max-tokens 128
//
// Exit code 1 when a request failed, 2 when nothing could be run.

#include <algorithm>
#include <fstream>
#include <iostream>
#include <regex>
#include <sstream>
#include <stdexcept>
#include <string>
#include <sys/resource.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <boost/json.hpp>

#include "bench/http/load.hpp"

namespace {

using namespace vouch::bench;
namespace json = boost::json;

struct chosen_options {
  load_options load;
  std::string url;
  std::string prompts_file;
  std::size_t prompt_words = 32;
  std::string salt;
  int server_pid = 0;
};

void read_url(chosen_options& chosen) {
  static const std::regex pattern{
      R"(http://([^/:\[\]]+|\[[^\]]+\])(:([0-9]{1,5}))?(/[^?#]*)?)"};
  std::smatch parts;
  const int port = std::regex_match(chosen.url, parts, pattern)
                       ? (parts[3].matched ? std::stoi(parts[3]) : 80)
                       : 0;
  if (port < 1 || port > 65535) {
    throw std::runtime_error{chosen.url +
                             ": expected http://HOST[:PORT][/BASE]"};
  }
  auto& load = chosen.load;
  load.host = parts[1];
  load.port = static_cast<std::uint16_t>(port);
  load.base_path = parts[4];
  while (load.base_path.ends_with('/')) load.base_path.pop_back();
  if (load.host.starts_with('['))
    load.host = load.host.substr(1, load.host.size() - 2);
}

double own_cpu_seconds() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  const auto seconds = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) +
           1e-6 * static_cast<double>(time.tv_usec);
  };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

/// User and system time of a process, from /proc; 10 ms fine.
double cpu_seconds_of(int pid) {
  const auto name = "/proc/" + std::to_string(pid) + "/stat";
  std::ifstream file{name};
  std::string line;
  if (!std::getline(file, line))
    throw std::runtime_error{name + ": no such process"};
  // The name in brackets may hold spaces; fields 14 and 15 are the times.
  std::istringstream rest{line.substr(line.rfind(')') + 1)};
  std::string skipped;
  for (int field = 3; field < 14; ++field) rest >> skipped;
  double user = 0;
  double system = 0;
  rest >> user >> system;
  return (user + system) / static_cast<double>(sysconf(_SC_CLK_TCK));
}

/// A descriptor a connection and a few more.
void raise_descriptor_limit(int clients) {
  rlimit limit{};
  getrlimit(RLIMIT_NOFILE, &limit);
  const auto wanted = static_cast<rlim_t>(clients) + 64;
  if (limit.rlim_cur >= wanted) return;
  limit.rlim_cur = std::min(wanted, limit.rlim_max);
  setrlimit(RLIMIT_NOFILE, &limit);
  if (limit.rlim_cur < wanted) {
    throw std::runtime_error{std::to_string(clients) +
                             " clients need more open files than the limit "
                             "allows (ulimit -n)"};
  }
}

int run(chosen_options& chosen) {
  auto& load = chosen.load;
  read_url(chosen);
  raise_descriptor_limit(load.clients);
  const auto count = static_cast<std::size_t>(load.clients) *
                     static_cast<std::size_t>(load.requests);
  load.prompts =
      chosen.prompts_file.empty()
          ? varied_prompts(count, chosen.prompt_words, chosen.salt, load.chat)
          : read_prompts(chosen.prompts_file, load.chat);
  const auto server_before =
      chosen.server_pid > 0 ? cpu_seconds_of(chosen.server_pid) : 0;
  const auto own_before = own_cpu_seconds();
  const auto measured = run_load(load);
  const auto own = own_cpu_seconds() - own_before;
  auto result = summarize(measured.clients, measured.wall_s);
  json::object shown;
  shown["clients"] = load.clients;
  for (auto& [key, value] : result) shown[key] = std::move(value);
  shown["client_cpu_s"] = own;
  if (chosen.server_pid > 0) {
    shown["server_cpu_s"] = cpu_seconds_of(chosen.server_pid) - server_before;
  }
  std::cout << json::serialize(shown) << std::endl;
  return shown["errors"].as_int64() > 0 ? 1 : 0;
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app{"Streams from an OpenAI-compatible server; prints JSON."};
  chosen_options chosen;
  auto& load = chosen.load;
  app.add_option("url", chosen.url, "http://HOST[:PORT][/BASE]")->required();
  app.add_option("--clients", load.clients, "Connections at a time")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  app.add_option("--requests", load.requests, "Requests of each client")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  app.add_option("--max-tokens", load.max_tokens, "Tokens of each answer")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  app.add_flag("--chat", load.chat,
               "/v1/chat/completions instead of /v1/completions");
  app.add_option("--prompts", chosen.prompts_file,
                 "JSON lines: a string, {\"prompt\": ...} or "
                 "{\"messages\": [...]}; default: a varied built-in set")
      ->check(CLI::ExistingFile);
  app.add_option("--prompt-words", chosen.prompt_words,
                 "Words of a built-in prompt")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  app.add_option("--salt", chosen.salt,
                 "Makes the built-in prompts differ from another run's");
  app.add_option("--temperature", load.temperature)->capture_default_str();
  app.add_option("--top-p", load.top_p)->capture_default_str();
  app.add_option("--seed", load.seed);
  app.add_flag("!--stop-at-eos", load.ignore_eos,
               "Let answers end by themselves (default: ignore_eos, so that "
               "all have the same length)");
  app.add_option("--model", load.model, "The request's model field");
  app.add_option("--api-key", load.api_key);
  app.add_option("--timeout", load.timeout_s, "Seconds without a byte")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  app.add_option("--server-pid", chosen.server_pid,
                 "Report this process's CPU time as well");
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : 2;
  }
  try {
    return run(chosen);
  } catch (const std::exception& error) {
    std::cerr << "load_client: " << error.what() << '\n';
    return 2;
  }
}
