#pragma once

#include <filesystem>

#include "runtime/config_loader.hpp"

namespace vouch::runtime {

/// vouch in $XDG_CACHE_HOME, else in ~/.cache; empty where neither is set.
std::filesystem::path cache_folder(const config_loader::environment& lookup);

/// Where the gate keeps its verdicts: speculation.verdict_dir, by default
/// `verdicts` in the cache folder. Empty: nowhere.
std::filesystem::path verdict_folder(const config& settings,
                                     const config_loader::environment& lookup);

/// Where a trip's evidence goes: speculation.evidence_dir, by default
/// `evidence` in the cache folder. Empty: nowhere.
std::filesystem::path evidence_folder(const config& settings,
                                      const config_loader::environment& lookup);

}  // namespace vouch::runtime
