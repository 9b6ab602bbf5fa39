#include "runtime/folders.hpp"

namespace vouch::runtime {
namespace {

std::filesystem::path chosen(const std::string& setting,
                             const std::filesystem::path& cache,
                             const char* name) {
  if (setting == "none") return {};
  if (!setting.empty()) return setting;
  return cache.empty() ? cache : cache / name;
}

}  // namespace

std::filesystem::path cache_folder(const config_loader::environment& lookup) {
  const auto set = [&](const char* name) {
    return lookup(name).value_or(std::string{});
  };
  if (const auto xdg = set("XDG_CACHE_HOME"); !xdg.empty()) {
    return std::filesystem::path{xdg} / "vouch";
  }
  if (const auto home = set("HOME"); !home.empty()) {
    return std::filesystem::path{home} / ".cache" / "vouch";
  }
  return {};
}

std::filesystem::path verdict_folder(const config& settings,
                                     const config_loader::environment& lookup) {
  return chosen(settings.speculation.verdict_dir, cache_folder(lookup),
                "verdicts");
}

std::filesystem::path evidence_folder(
    const config& settings, const config_loader::environment& lookup) {
  return chosen(settings.speculation.evidence_dir, cache_folder(lookup),
                "evidence");
}

}  // namespace vouch::runtime
