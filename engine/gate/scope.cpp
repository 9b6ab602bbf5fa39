#include "engine/gate/scope.hpp"

#include <exception>
#include <fstream>
#include <string_view>

#include "engine/checkpoint/content_hash.hpp"
#include "engine/checkpoint/mapped_file.hpp"

namespace vouch::engine {
namespace {

std::string escaped(std::string_view value) {
  std::string text;
  for (const char c : value) {
    if (c == '\\') {
      text += "\\\\";
    } else if (c == '\n') {
      text += "\\n";
    } else {
      text += c;
    }
  }
  return text;
}

}  // namespace

std::string scope_text(const verdict_scope& scope) {
  std::string text;
  const auto add = [&text](std::string_view key, std::string_view value) {
    text += key;
    text += '=';
    text += escaped(value);
    text += '\n';
  };
  std::string taps;
  for (const auto layer : scope.taps) {
    if (!taps.empty()) taps += ',';
    taps += std::to_string(layer);
  }
  add("model", scope.model);
  add("program", scope.program);
  add("backend", scope.backend);
  add("device", scope.device);
  add("libraries", scope.libraries);
  add("dispatch", scope.dispatch);
  add("threads", std::to_string(scope.threads));
  add("plan", scope.plan);
  add("kv_format", scope.kv_format);
  add("drafter", scope.drafter);
  add("drafter_model", scope.drafter_model);
  add("taps", taps);
  add("faults", scope.faults);
  add("step_rows", std::to_string(scope.step_rows));
  add("chunk", std::to_string(scope.chunk));
  add("block", std::to_string(scope.block));
  add("split", std::to_string(scope.split));
  return text;
}

std::string scope_id(const verdict_scope& scope) {
  content_hash hash;
  hash.add(scope_text(scope));
  return hash.text();
}

std::string program_fingerprint() {
  try {
    const mapped_file file{"/proc/self/exe"};
    content_hash hash;
    hash.add_file(file, file.bytes().size());
    return hash.text();
  } catch (const std::exception&) {
    return "unreadable";
  }
}

std::string processor_name() {
  std::ifstream info{"/proc/cpuinfo"};
  std::string line;
  while (std::getline(info, line)) {
    const auto colon = line.find(": ");
    if (line.rfind("model name", 0) == 0 && colon != std::string::npos) {
      return line.substr(colon + 2);
    }
  }
  return "unknown";
}

}  // namespace vouch::engine
