#include <algorithm>
#include <chrono>
#include <csignal>
#include <ctime>
#include <fstream>
#include <iostream>
#include <map>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <spdlog/spdlog.h>

#include "cli/commands.hpp"
#include "cli/logging.hpp"
#include "cli/open_files.hpp"
#include "cli/progress_bar.hpp"
#include "cli/signals.hpp"
#include "engine/error.hpp"
#include "http/server.hpp"
#include "runtime/compute_cpus.hpp"
#include "runtime/config_loader.hpp"
#include "runtime/runtime.hpp"
#include "runtime/settings.hpp"

namespace vouch::cli {

namespace {

struct options {
  std::string config_file;
  std::string port_file;
  bool check = false;
  bool print_config = false;
  /// key -> (text, the flag as it is called)
  std::map<std::string, std::pair<std::string, std::string>> flags;
};

/// Short names of the settings one sets most; the rest go by their key.
const std::map<std::string_view, std::string_view> short_names = {
    {"server.host", "--host"},
    {"server.port", "--port"},
    {"server.api_keys", "--api-key"},
    {"model.path", "-m,--model,model"},
    {"model.name", "--model-name"},
    {"model.chat_template", "--chat-template"},
    {"engine.threads", "--threads"},
    {"engine.cpu_list", "--cpu-list"},
    {"engine.kv_type", "--kv-type"},
    {"engine.kv_blocks", "--kv-blocks"},
    {"engine.kv_memory_mib", "--kv-memory-mib"},
    {"engine.max_context", "--max-context"},
    {"speculation.drafter", "--drafter"},
    {"log.level", "--log-level"},
    {"log.format", "--log-format"},
    {"policy.file", "--policy"},
};

runtime::config load(const options& chosen, runtime::config_loader& loader) {
  auto file = std::filesystem::path{chosen.config_file};
  if (file.empty()) {
    file = runtime::default_config_file(runtime::from_environment);
  }
  if (!file.empty()) {
    loader.read_file(file);
  }
  loader.read_environment(runtime::from_environment);
  for (const auto& [key, given] : chosen.flags) {
    loader.set(key, given.first, given.second);
  }
  return loader.finish();
}

std::string url_of(const runtime::config& settings, int port) {
  auto host = settings.server.host;
  if (host == "0.0.0.0" || host == "::") {
    host = "127.0.0.1";
  }
  if (host.find(':') != std::string::npos) {
    host = "[" + host + "]";
  }
  return "http://" + host + ":" + std::to_string(port);
}

/// The line that a newcomer can paste.
void print_welcome(const runtime::config& settings,
                   const runtime::model_info& model, int port) {
  const auto url = url_of(settings, port);
  const std::string key = settings.server.api_keys.empty()
                              ? ""
                              : " -H 'Authorization: Bearer YOUR_KEY'";
  std::cout << "\nServing " << model.name << " at " << url
            << " (Ctrl-C stops). Try:\n\n"
            << "curl -s " << url << "/v1/chat/completions" << key
            << " -H 'Content-Type: application/json' -d '{\"messages\": "
               "[{\"role\": \"user\", \"content\": \"Why is the sky blue?\"}], "
               "\"max_tokens\": 64, \"temperature\": 0}'\n\n"
            << std::flush;
}

/// Loads while the server answers 503; false when a signal came first.
bool wait_for_model(runtime::runtime& model, const std::string& path,
                    signal_waiter& signals) {
  progress_bar bar{"Loading " + file_name(path)};
  while (model.current_state() == runtime::state::loading) {
    bar.show(model.load_share());
    const int signal = signals.wait(std::chrono::milliseconds(50));
    if (signal == SIGTERM || signal == SIGINT) {
      return false;
    }
  }
  model.wait_until_ready();
  return true;
}

/// Until SIGTERM or SIGINT; SIGHUP reloads the policy, all or nothing.
void serve_until_signal(runtime::runtime& model, const options& chosen,
                        signal_waiter& signals) {
  while (true) {
    const int signal = signals.wait(std::chrono::hours(1));
    if (signal == SIGTERM || signal == SIGINT) {
      return;
    }
    if (signal != SIGHUP) {
      continue;
    }
    try {
      runtime::config_loader loader;
      const auto settings = load(chosen, loader);
      if (settings.policy_file.empty()) {
        spdlog::warn("SIGHUP: no policy file is configured; nothing reloaded");
        continue;
      }
      model.set_policy(settings.policy, settings.policy_origins);
      spdlog::info(
          "SIGHUP: policy {} reloaded; keys of [server], [model], [engine] and "
          "[log] need a restart",
          settings.policy_file);
    } catch (const engine::input_error& error) {
      spdlog::error("SIGHUP: nothing reloaded: {}", error.what());
    }
  }
}

/// What cut requests' answers get to reach their clients.
constexpr std::chrono::milliseconds last_answers{500};

/// Refuses new work, waits for what runs; a second signal cuts it short.
int drain(runtime::runtime& model, http::server& server,
          const runtime::config& settings, signal_waiter& signals) {
  const auto deadline = std::chrono::milliseconds(
      static_cast<std::int64_t>(settings.server.drain_timeout * 1000.0));
  spdlog::info("draining, at most {} s", settings.server.drain_timeout);
  const auto least = std::min(deadline / 4, last_answers);
  bool all_done = false;
  std::thread waiter{[&] {
    using std::chrono::steady_clock;
    const auto until = steady_clock::now() + deadline;
    all_done = model.drain(deadline);
    // The last answers still have to reach their clients.
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(
        until - steady_clock::now());
    all_done = server.drain(std::max(left, least)) && all_done;
    signals.wake();
  }};
  if (signals.wait_for_wake() != 0) {
    spdlog::warn("second signal: running requests are cancelled");
    model.drain(std::chrono::milliseconds(0));
    server.drain(least);
    server.cut_drain();
  }
  waiter.join();
  server.stop();
  spdlog::info("stopped{}", all_done ? "" : "; unfinished requests were cut");
  return exit_ok;
}

/// Beyond the limit of open files a client would wait instead of getting the
/// 503 that server.max_connections promises.
void check_open_files(std::int32_t connections) {
  const auto room = make_room_for_connections(connections);
  if (room < connections) {
    spdlog::warn(
        "server.max_connections = {}, but the limit of open files (ulimit -Hn) "
        "leaves room for {} connections; further ones have to wait",
        connections, room);
  }
}

int serve(const options& chosen) {
  runtime::config_loader loader;
  const auto settings = load(chosen, loader);
  if (chosen.print_config) {
    std::cout << loader.print();
    return exit_ok;
  }
  if (chosen.check) {
    std::cout << "configuration is valid (policy: "
              << (settings.policy_file.empty() ? "defaults"
                                               : settings.policy_file)
              << ")\n";
    return exit_ok;
  }
  if (settings.model.path.empty()) {
    throw engine::input_error("--model",
                              "no model given (or model.path in the file)");
  }
  set_up_logging(settings.log.level, settings.log.format);
  check_open_files(settings.server.max_connections);
  // Before any thread starts, so that all of them leave the signals alone.
  signal_waiter signals;
  // Nor do they run where the compute threads are to.
  runtime::keep_off(runtime::compute_cpus(
      settings.engine.cpu_list, settings.engine.threads, "engine.cpu_list"));

  caf::actor_system_config system_config;
  runtime::configure(system_config);
  caf::actor_system system{system_config};
  runtime::runtime model{system, settings};
  http::server server{system, model, settings};
  const int port = server.start();
  spdlog::info("listening on {}:{}", settings.server.host, port);
  if (!wait_for_model(model, settings.model.path, signals)) {
    server.stop();
    return exit_ok;
  }
  if (!chosen.port_file.empty()) {
    std::ofstream file{chosen.port_file};
    if (!(file << port << std::endl)) {
      throw engine::input_error(chosen.port_file, "cannot be written");
    }
  }
  const auto info = model.model().value();
  spdlog::info("ready: {} ({}), {} tokens of context, {} KV blocks of 16, {}",
               info.name, info.path, info.max_context,
               model.stats().total_blocks, info.fingerprint);
  print_welcome(settings, info, port);
  serve_until_signal(model, chosen, signals);
  return drain(model, server, settings, signals);
}

std::string group_of(std::string_view key) {
  std::string name{key.substr(0, key.find('.'))};
  name[0] =
      static_cast<char>(std::toupper(static_cast<unsigned char>(name[0])));
  return name;
}

}  // namespace

void add_serve(CLI::App& app, action& chosen) {
  auto* command = app.add_subcommand(
      "serve", "Serves a model over HTTP with the OpenAI API.");
  auto picked = std::make_shared<options>();
  command->add_option("-c,--config", picked->config_file,
                      "TOML file; absent: $XDG_CONFIG_HOME/vouch/config.toml, "
                      "then /etc/vouch/config.toml");
  command->add_flag("--check", picked->check,
                    "Judge configuration and policy, load nothing");
  command->add_flag("--print-config", picked->print_config,
                    "Print every setting with its origin, load nothing");
  command->add_option("--port-file", picked->port_file,
                      "Write the port here once the model is ready");
  runtime::config defaults;
  for (const auto& each : runtime::settings_of(defaults)) {
    const auto alias = short_names.find(each.key);
    const std::string key{each.key};
    const auto names =
        (alias == short_names.end() ? std::string{}
                                    : std::string{alias->second} + ",") +
        "--" + key;
    const bool list =
        std::holds_alternative<std::vector<std::string>*>(each.value);
    auto* option = command->add_option_function<std::vector<std::string>>(
        names,
        [picked, key](const std::vector<std::string>& texts) {
          std::string joined;
          for (const auto& text : texts) {
            joined += (joined.empty() ? "" : ",") + text;
          }
          picked->flags[key] = {joined, "--" + key};
        },
        std::string{each.help} + " [" + runtime::to_toml(each) + "]");
    option->group(group_of(each.key))->type_name(list ? "TEXT,..." : "VALUE");
    if (list) {
      option->expected(1, 1 << 10);
    } else {
      // The last one counts, so that a script can append its own.
      option->expected(1)->take_last();
    }
  }
  command->footer(
      "Flags go over the environment (VOUCH_SERVER_PORT for server.port), "
      "which goes over the file.\nSIGTERM drains, SIGHUP reloads the policy.");
  command->callback(
      [&chosen, picked] { chosen = [picked] { return serve(*picked); }; });
}

}  // namespace vouch::cli
