#include "runtime/settings.hpp"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cmath>
#include <limits>
#include <sstream>
#include <type_traits>

namespace vouch::runtime {

namespace {

/// Printed in place of a secret; refused where it is read.
constexpr std::string_view hidden_secret = "***";

template <class Number>
std::string parse_number(const std::string& text, Number& into) {
  Number value{};
  const auto* end = text.data() + text.size();
  const auto [stop, failure] = std::from_chars(text.data(), end, value);
  if (failure != std::errc{} || stop != end || text.empty()) {
    return std::is_floating_point_v<Number>
               ? "expected a number, got '" + text + "'"
               : "expected an integer, got '" + text + "'";
  }
  into = value;
  return {};
}

std::string toml_string(const std::string& text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') {
      out += '\\';
    }
    out += c;
  }
  return out + "\"";
}

std::string number_text(double value) {
  std::ostringstream out;
  out << value;
  const auto text = out.str();
  return text.find_first_of(".en") == std::string::npos ? text + ".0" : text;
}

}  // namespace

std::vector<setting> settings_of(config& c) {
  constexpr double any = std::numeric_limits<std::int64_t>::max();
  constexpr double day = 86400.0;
  auto& s = c.server;
  auto& e = c.engine;
  std::vector<setting> all{
      {"server.host", "Address to listen on", &s.host, 0, 0, {}},
      {"server.port", "Port; 0: any free one", &s.port, 0, 65535, {}},
      {"server.api_keys",
       "Keys that may be used; none: no key is asked for",
       &s.api_keys,
       0,
       0,
       {},
       true},
      {"server.cors_origins",
       "Origins of web pages that may use the server (CORS); *: any",
       &s.cors_origins,
       0,
       0,
       {}},
      {"server.threads", "I/O threads", &s.threads, 1, 64, {}},
      {"server.max_connections",
       "Open connections",
       &s.max_connections,
       1,
       1 << 20,
       {}},
      {"server.max_body_bytes",
       "Largest request body (bytes)",
       &s.max_body_bytes,
       1024,
       1 << 30,
       {}},
      {"server.max_body_bytes_in_flight",
       "Bodies of all running requests together (bytes)",
       &s.max_body_bytes_in_flight,
       1024,
       1LL << 40,
       {}},
      {"server.max_header_bytes",
       "Largest request header (bytes)",
       &s.max_header_bytes,
       1024,
       1 << 20,
       {}},
      {"server.max_json_depth",
       "Deepest JSON nesting",
       &s.max_json_depth,
       4,
       1000,
       {}},
      {"server.max_n", "Largest n", &s.max_n, 1, 1024, {}},
      {"server.max_top_logprobs",
       "Largest (top_)logprobs",
       &s.max_top_logprobs,
       0,
       20,
       {}},
      {"server.max_stop_strings",
       "Stop strings of a request",
       &s.max_stop_strings,
       1,
       1024,
       {}},
      {"server.idle_timeout",
       "Idle connections are closed after (s)",
       &s.idle_timeout,
       0.1,
       day,
       {}},
      {"server.write_timeout",
       "A client that reads nothing is cut after (s)",
       &s.write_timeout,
       0.1,
       day,
       {}},
      {"server.max_pending_write_bytes",
       "A client this far behind is cut (bytes)",
       &s.max_pending_write_bytes,
       4096,
       1 << 30,
       {}},
      {"server.drain_timeout",
       "SIGTERM waits for running requests (s)",
       &s.drain_timeout,
       0.0,
       day,
       {}},
      {"server.strict",
       "Unknown request fields are an error",
       &s.strict,
       0,
       0,
       {}},
      {"server.vllm_metric_names",
       "/metrics shows vllm: names as well",
       &s.vllm_metric_names,
       0,
       0,
       {}},
      {"model.path",
       "GGUF file or folder of safetensors",
       &c.model.path,
       0,
       0,
       {}},
      {"model.name",
       "Name in /v1/models; empty: the model's own",
       &c.model.name,
       0,
       0,
       {}},
      {"model.chat_template",
       "A .jinja file instead of the model's template",
       &c.model.chat_template,
       0,
       0,
       {}},
      {"engine.threads",
       "Compute threads; 0: one a core",
       &e.threads,
       0,
       1024,
       {}},
      {"engine.cpu_list",
       "CPUs of the compute threads, one each: 0-3,8; empty: any",
       &e.cpu_list,
       0,
       0,
       {}},
      {"engine.kv_type",
       "How keys and values are cached: f16 or f32",
       &e.kv_type,
       0,
       0,
       {"f16", "f32"}},
      {"engine.kv_blocks",
       "KV blocks of 16 tokens; 0: what kv_memory_mib holds",
       &e.kv_blocks,
       0,
       1 << 30,
       {}},
      {"engine.kv_memory_mib",
       "Memory for keys and values (MiB)",
       &e.kv_memory_mib,
       1,
       1 << 24,
       {}},
      {"engine.max_context",
       "Tokens of context; 0: the model's own",
       &e.max_context,
       0,
       1 << 24,
       {}},
      {"engine.steps_in_flight",
       "Steps planned ahead of their results",
       &e.steps_in_flight,
       1,
       2,
       {}},
      {"engine.measure_costs",
       "Time steps of 1 to 64 rows before serving",
       &e.measure_costs,
       0,
       0,
       {}},
  };
  add_speculation_settings(c, all);
  const std::vector<setting> rest{
      {"kernels.plan",
       "invariant, or fast: free to choose by rows, text depends on load",
       &c.kernels.plan,
       0,
       0,
       {"invariant", "fast"}},
      {"log.level",
       "Least severe lines shown: trace, debug, info, warn, error",
       &c.log.level,
       0,
       0,
       {"trace", "debug", "info", "warn", "error"}},
      {"log.format",
       "auto: text on a terminal, else json",
       &c.log.format,
       0,
       0,
       {"auto", "text", "json"}},
      {"policy.file",
       "Policy file: order, batching, cache, preemption",
       &c.policy_file,
       0,
       any,
       {},
       false,
       false},
  };
  all.insert(all.end(), rest.begin(), rest.end());
  return all;
}

std::string environment_name(std::string_view key) {
  std::string name = "VOUCH_";
  for (const char c : key) {
    name +=
        c == '.'
            ? '_'
            : static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  }
  return name;
}

std::string check_range(const setting& of) {
  return std::visit(
      [&of](auto* value) -> std::string {
        using type = std::remove_pointer_t<decltype(value)>;
        if constexpr (std::is_same_v<type, std::string>) {
          if (of.choices.empty() ||
              std::find(of.choices.begin(), of.choices.end(), *value) !=
                  of.choices.end()) {
            return {};
          }
          std::string allowed;
          for (const auto choice : of.choices) {
            allowed += (allowed.empty() ? "" : ", ") + std::string{choice};
          }
          return "expected one of " + allowed + ", got '" + *value + "'";
        } else if constexpr (std::is_same_v<type, std::vector<std::string>>) {
          for (const auto& entry : *value) {
            if (entry.empty()) {
              return "an entry is empty";
            }
            if (of.secret && entry == hidden_secret) {
              return "'***' is what is printed in place of a key, not a key";
            }
          }
        } else if constexpr (std::is_same_v<type, std::int32_t> ||
                             std::is_same_v<type, std::int64_t> ||
                             std::is_same_v<type, double>) {
          const auto number = static_cast<double>(*value);
          if (std::isnan(number) || number < of.least || number > of.most) {
            std::ostringstream out;
            out.precision(12);
            out << "must be between " << of.least << " and " << of.most
                << ", got " << number;
            return out.str();
          }
        }
        return {};
      },
      of.value);
}

std::string assign_text(const setting& where, const std::string& text) {
  const auto failure = std::visit(
      [&text](auto* value) -> std::string {
        using type = std::remove_pointer_t<decltype(value)>;
        if constexpr (std::is_same_v<type, bool>) {
          if (text == "true" || text == "1") {
            *value = true;
          } else if (text == "false" || text == "0") {
            *value = false;
          } else {
            return "expected true or false, got '" + text + "'";
          }
          return {};
        } else if constexpr (std::is_same_v<type, std::string>) {
          *value = text;
          return {};
        } else if constexpr (std::is_same_v<type, std::vector<std::string>>) {
          // Most likely a variable that was not set: never "no key".
          if (text.empty()) {
            return "expected at least one entry, got an empty text";
          }
          value->clear();
          std::istringstream in{text};
          for (std::string part; std::getline(in, part, ',');) {
            value->push_back(part);
          }
          return {};
        } else {
          return parse_number(text, *value);
        }
      },
      where.value);
  return failure.empty() ? check_range(where) : failure;
}

std::string to_toml(const setting& of) {
  return std::visit(
      [&of](auto* value) -> std::string {
        using type = std::remove_pointer_t<decltype(value)>;
        if constexpr (std::is_same_v<type, bool>) {
          return *value ? "true" : "false";
        } else if constexpr (std::is_same_v<type, std::string>) {
          return toml_string(*value);
        } else if constexpr (std::is_same_v<type, std::vector<std::string>>) {
          std::string out = "[";
          for (const auto& part : *value) {
            out += (out.size() > 1 ? ", " : "") +
                   toml_string(of.secret ? std::string{hidden_secret} : part);
          }
          return out + "]";
        } else if constexpr (std::is_same_v<type, double>) {
          return number_text(*value);
        } else {
          return std::to_string(*value);
        }
      },
      of.value);
}

}  // namespace vouch::runtime
