#pragma once

#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "runtime/config.hpp"

namespace vouch::runtime {

/// Puts a config together: defaults, then a file, then the environment, then
/// flags, each over the one before, and remembers where every value came from.
/// What is wrong throws engine::input_error: "server.toml:12: server.port:
/// ...", "VOUCH_SERVER_PORT: ...", "--server.port: ...".
class config_loader {
 public:
  using environment =
      std::function<std::optional<std::string>(const std::string& name)>;

  /// Reads a TOML file strictly: unknown keys are errors with a suggestion.
  void read_file(const std::filesystem::path& file);
  /// VOUCH_SERVER_PORT and so on; `lookup` is getenv but for tests.
  void read_environment(const environment& lookup);
  /// A flag, with the name it was given by.
  void set(std::string_view key, const std::string& text,
           const std::string& flag);

  /// Reads the policy file, checks values against each other and hands the
  /// config over.
  config finish();

  /// The effective configuration as TOML, each value's origin behind it.
  std::string print() const;

  /// Where `key` came from: "default", "file:line", a variable or a flag.
  std::string origin(std::string_view key) const;

 private:
  mutable config settings_;
  std::map<std::string, std::string, std::less<>> origins_;
};

/// The configuration file that is read when none is named:
/// $XDG_CONFIG_HOME/vouch/config.toml (or ~/.config), then
/// /etc/vouch/config.toml; empty when neither is there.
std::filesystem::path default_config_file(
    const config_loader::environment& lookup);

/// getenv.
std::optional<std::string> from_environment(const std::string& name);

}  // namespace vouch::runtime
