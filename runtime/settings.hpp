#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "runtime/config.hpp"

namespace vouch::runtime {

/// One configurable value: its key in the file, what it means, where it lies
/// in a config and which values it may have. The one table behind the file,
/// the environment, the flags and the printout.
struct setting {
  using target = std::variant<bool*, std::int32_t*, std::int64_t*, double*,
                              std::string*, std::vector<std::string>*>;

  /// "server.port"; the environment's name is VOUCH_SERVER_PORT.
  std::string_view key;
  std::string_view help;
  target value;
  /// Bounds of numbers, both allowed.
  double least = 0.0;
  double most = 0.0;
  /// Allowed texts; empty: any.
  std::vector<std::string_view> choices;
  /// Printed as "***".
  bool secret = false;
  /// Restart needed: SIGHUP does not change it.
  bool restart = true;
};

/// Every setting, bound to `into`.
std::vector<setting> settings_of(config& into);

/// Of these, what belongs to speculation and its gate: [speculation], [test].
void add_speculation_settings(config& into, std::vector<setting>& to);

/// Name in the environment: "server.port" -> "VOUCH_SERVER_PORT".
std::string environment_name(std::string_view key);

/// Sets from text (a flag, the environment); lists are separated by commas.
/// Returns what is wrong, or empty.
std::string assign_text(const setting& where, const std::string& text);

/// The value as TOML; secrets hidden.
std::string to_toml(const setting& of);

/// Why the value is not allowed, or empty.
std::string check_range(const setting& of);

}  // namespace vouch::runtime
