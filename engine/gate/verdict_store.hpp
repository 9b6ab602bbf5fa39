#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "engine/gate/scope.hpp"
#include "engine/gate/verdict.hpp"

namespace vouch::engine {

/// Verdicts on disk: one JSON file a scope, named by its id, written in whole
/// and flushed to the disk before save() returns.
///
/// A file that cannot be used (damaged, of another scope, written by hand) is
/// told of and left out; nothing that is read badly ever becomes an `equal`.
class verdict_store {
 public:
  /// An empty folder name: nothing is stored or found.
  explicit verdict_store(std::filesystem::path folder);

  /// vouch/verdicts under XDG_CACHE_HOME or ~/.cache; empty where neither is
  /// set.
  static std::filesystem::path default_folder();

  struct found {
    std::optional<verdict_table> table;
    /// Why there is none although there is a file.
    std::string warning;
  };
  found load(const verdict_scope& scope) const;

  /// Writes the table; trips that the disk has and the table has not stay.
  /// Several processes may save at once. Throws std::system_error naming the
  /// file.
  void save(const verdict_scope& scope, const verdict_table& table) const;

  /// Forgets what is stored for every scope of a model, trips included: what
  /// an operator asks for. The ids of the files that went.
  std::vector<std::string> clear(const std::string& model) const;

  std::filesystem::path file_of(const verdict_scope& scope) const;

 private:
  std::filesystem::path folder_;
};

}  // namespace vouch::engine
