#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>

#include "engine/gate/audit.hpp"
#include "engine/gate/scope.hpp"
#include "engine/gate/verdict.hpp"

namespace vouch::engine {

/// What a trip was tripped by: enough to play the step again, with everybody
/// who was in it (`vouch bisect`).
struct trip_evidence {
  std::string scope;
  std::string scope_id;
  /// In milliseconds since 1970.
  std::int64_t when_ms = 0;
  verdict_table before;
  audit_finding finding;
};

/// One JSON object; hashes are strings of 16 hex digits. Holds the tokens of
/// the request and of those that shared its step.
std::string json_of(const trip_evidence& evidence);
/// The reverse. Throws input_error naming `file` and the field.
trip_evidence parse_evidence(const std::string& file, std::string_view text);

/// Makes `folder`/SCOPE-TIME with trip.json in it, flushed, readable by its
/// owner only, and gives that folder's name. Throws std::system_error.
std::filesystem::path write_evidence(const std::filesystem::path& folder,
                                     const trip_evidence& evidence);

}  // namespace vouch::engine
