#include "runtime/config_loader.hpp"

#include <cstdlib>
#include <sstream>
#include <stdexcept>
#include <type_traits>

#include "engine/config/toml_reader.hpp"
#include "engine/error.hpp"
#include "engine/faults/fault_spec.hpp"
#include "runtime/compute_cpus.hpp"
#include "runtime/settings.hpp"

namespace vouch::runtime {

namespace {

/// Reads one setting from the file, if it is there.
void read_setting(engine::toml_reader& file, const setting& where) {
  std::visit(
      [&](auto* value) {
        using type = std::remove_pointer_t<decltype(value)>;
        if constexpr (std::is_same_v<type, bool>) {
          file.boolean(where.key, *value);
        } else if constexpr (std::is_same_v<type, std::int32_t>) {
          file.integer(where.key, *value,
                       static_cast<std::int32_t>(where.least),
                       static_cast<std::int32_t>(where.most));
        } else if constexpr (std::is_same_v<type, std::int64_t>) {
          file.integer(where.key, *value,
                       static_cast<std::int64_t>(where.least),
                       static_cast<std::int64_t>(where.most));
        } else if constexpr (std::is_same_v<type, double>) {
          file.number(where.key, *value, where.least, where.most);
        } else if constexpr (std::is_same_v<type, std::string>) {
          if (file.string(where.key, *value)) {
            if (const auto wrong = check_range(where); !wrong.empty()) {
              file.fail(where.key, wrong);
            }
          }
        } else {
          if (file.strings(where.key, *value)) {
            if (const auto wrong = check_range(where); !wrong.empty()) {
              file.fail(where.key, wrong);
            }
          }
        }
      },
      where.value);
}

/// What the values of [speculation] ask of each other and of the files.
void check_speculation(const config_loader& loader, const config& settings) {
  const auto& s = settings.speculation;
  const auto fail = [&](const std::string& key, const std::string& what) {
    throw engine::input_error(loader.origin(key), key + ": " + what);
  };
  if (s.lookup_min > s.lookup_max) {
    const bool by_max = loader.origin("speculation.lookup_min") == "default";
    fail(by_max ? "speculation.lookup_max" : "speculation.lookup_min",
         "speculation.lookup_min = " + std::to_string(s.lookup_min) +
             " is more than speculation.lookup_max = " +
             std::to_string(s.lookup_max));
  }
  std::error_code ignored;
  if (s.drafter.empty()) fail("speculation.drafter", "is empty; 'none' is off");
  if (s.drafter != "none" && s.drafter != "lookup" &&
      !s.drafter.starts_with("scripted:") &&
      !std::filesystem::exists(s.drafter, ignored)) {
    fail("speculation.drafter", "'" + s.drafter +
                                    "' is neither 'lookup' nor 'none' nor a "
                                    "file or folder that is there");
  }
  if (s.transcript.empty()) return;
  const auto folder = std::filesystem::absolute(s.transcript).parent_path();
  if (!std::filesystem::is_directory(folder, ignored)) {
    fail("speculation.transcript",
         "there is no folder '" + folder.string() + "'");
  }
}

void check_faults(const config_loader& loader, const config& settings) {
  for (const auto& fault : settings.test.faults) {
    try {
      static_cast<void>(engine::parse_fault(fault));
    } catch (const std::invalid_argument& error) {
      throw engine::input_error(loader.origin("test.faults"),
                                std::string{"test.faults: "} + error.what());
    }
  }
}

}  // namespace

void config_loader::read_file(const std::filesystem::path& path) {
  auto file = engine::toml_reader::from_file(path);
  const auto policy_before = settings_.policy_file;
  for (const auto& where : settings_of(settings_)) {
    read_setting(file, where);
  }
  file.finish();
  for (const auto& [key, place] : file.origins()) {
    origins_[key] = place;
  }
  // A policy file is named relative to the file that names it.
  if (settings_.policy_file != policy_before &&
      !settings_.policy_file.empty()) {
    settings_.policy_file =
        (path.parent_path() / settings_.policy_file).string();
  }
}

void config_loader::read_environment(const environment& lookup) {
  for (const auto& where : settings_of(settings_)) {
    const auto name = environment_name(where.key);
    if (const auto text = lookup(name)) {
      if (const auto wrong = assign_text(where, *text); !wrong.empty()) {
        throw engine::input_error(name, wrong);
      }
      origins_[std::string{where.key}] = name;
    }
  }
}

void config_loader::set(std::string_view key, const std::string& text,
                        const std::string& flag) {
  for (const auto& where : settings_of(settings_)) {
    if (where.key != key) {
      continue;
    }
    if (const auto wrong = assign_text(where, text); !wrong.empty()) {
      throw engine::input_error(flag, wrong);
    }
    origins_[std::string{key}] = flag;
    return;
  }
  throw engine::input_error(flag, "unknown setting");
}

config config_loader::finish() {
  if (!settings_.policy_file.empty()) {
    settings_.policy_origins.clear();
    settings_.policy =
        engine::load_policy(settings_.policy_file, &settings_.policy_origins);
  }
  if (settings_.engine.kv_blocks > 0 && settings_.engine.max_context > 0 &&
      settings_.engine.kv_blocks * 16LL < settings_.engine.max_context &&
      origin("engine.max_context") != "default") {
    throw engine::input_error(
        origin("engine.max_context"),
        "engine.max_context: " + std::to_string(settings_.engine.max_context) +
            " tokens do not fit engine.kv_blocks = " +
            std::to_string(settings_.engine.kv_blocks) + " blocks of 16");
  }
  const auto& server = settings_.server;
  if (server.max_body_bytes_in_flight < server.max_body_bytes) {
    const bool by_body = origin("server.max_body_bytes_in_flight") == "default";
    throw engine::input_error(
        origin(by_body ? "server.max_body_bytes"
                       : "server.max_body_bytes_in_flight"),
        "server.max_body_bytes = " + std::to_string(server.max_body_bytes) +
            " is more than server.max_body_bytes_in_flight = " +
            std::to_string(server.max_body_bytes_in_flight));
  }
  check_speculation(*this, settings_);
  check_faults(*this, settings_);
  compute_cpus(settings_.engine.cpu_list, settings_.engine.threads,
               origin("engine.cpu_list") + ": engine.cpu_list");
  return settings_;
}

std::string config_loader::origin(std::string_view key) const {
  const auto found = origins_.find(key);
  return found == origins_.end() ? "default" : found->second;
}

std::string config_loader::print() const {
  std::ostringstream out;
  std::string table;
  for (const auto& where : settings_of(settings_)) {
    const auto dot = where.key.find('.');
    const std::string prefix{where.key.substr(0, dot)};
    if (prefix != table) {
      out << (table.empty() ? "" : "\n") << '[' << prefix << "]\n";
      table = prefix;
    }
    out << where.key.substr(dot + 1) << " = " << to_toml(where) << "  # "
        << origin(where.key) << '\n';
  }
  return out.str();
}

std::filesystem::path default_config_file(
    const config_loader::environment& lookup) {
  std::filesystem::path user;
  if (const auto xdg = lookup("XDG_CONFIG_HOME"); xdg && !xdg->empty()) {
    user = *xdg;
  } else if (const auto home = lookup("HOME")) {
    user = std::filesystem::path{*home} / ".config";
  }
  std::error_code ignored;
  for (const auto& candidate :
       {user / "vouch/config.toml",
        std::filesystem::path{"/etc/vouch/config.toml"}}) {
    if (!user.empty() && std::filesystem::exists(candidate, ignored)) {
      return candidate;
    }
  }
  return {};
}

std::optional<std::string> from_environment(const std::string& name) {
  const char* value = std::getenv(name.c_str());
  return value == nullptr ? std::nullopt : std::optional<std::string>{value};
}

}  // namespace vouch::runtime
