#include "engine/gate/verdict_store.hpp"

#include <cerrno>
#include <cstdlib>
#include <fcntl.h>
#include <sys/file.h>
#include <system_error>
#include <unistd.h>
#include <utility>

#include <boost/json.hpp>

#include "engine/error.hpp"
#include "engine/file_text.hpp"
#include "engine/gate/write_file.hpp"

namespace vouch::engine {
namespace {

namespace fs = std::filesystem;
namespace json = boost::json;

constexpr std::size_t max_bytes = std::size_t{1} << 20U;
constexpr std::int64_t format = 1;

[[noreturn]] void fail(const fs::path& file, const char* what) {
  throw std::system_error{errno, std::generic_category(),
                          file.string() + ": " + what};
}

/// Whoever writes holds it, so that nobody's trip is lost between another's
/// reading and writing.
class folder_lock {
 public:
  explicit folder_lock(const fs::path& folder)
      : file_{::open((folder / ".lock").c_str(), O_CREAT | O_RDWR | O_CLOEXEC,
                     0644)} {
    const auto name = folder / ".lock";
    if (file_ < 0) fail(name, "cannot be opened");
    while (::flock(file_, LOCK_EX) != 0) {
      if (errno == EINTR) continue;
      ::close(file_);
      fail(name, "cannot be locked");
    }
  }
  ~folder_lock() { ::close(file_); }
  folder_lock(const folder_lock&) = delete;
  folder_lock& operator=(const folder_lock&) = delete;

 private:
  int file_;
};

std::string text_of(const verdict_scope& scope, const verdict_table& table) {
  return json::serialize(
             json::object{{"format", format},
                          {"scope", scope_text(scope)},
                          {"model", scope.model},
                          {"verdicts", json::parse(json_of(table))}}) +
         '\n';
}

/// The file's object, with the right format; throws input_error.
json::object read(const fs::path& file) {
  boost::system::error_code error;
  auto parsed = json::parse(read_file_text(file, max_bytes), error);
  if (error) throw input_error(file.string(), "is no JSON");
  if (!parsed.is_object()) throw input_error(file.string(), "is no object");
  auto object = std::move(parsed.as_object());
  const auto* version = object.if_contains("format");
  if (version == nullptr || !version->is_int64() ||
      version->as_int64() != format) {
    throw input_error(file.string(), "format is not " + std::to_string(format));
  }
  return object;
}

}  // namespace

verdict_store::verdict_store(fs::path folder) : folder_{std::move(folder)} {}

fs::path verdict_store::default_folder() {
  const char* cache = std::getenv("XDG_CACHE_HOME");
  if (cache != nullptr && *cache == '/') {
    return fs::path{cache} / "vouch" / "verdicts";
  }
  const char* home = std::getenv("HOME");
  if (home == nullptr || *home == '\0') return {};
  return fs::path{home} / ".cache" / "vouch" / "verdicts";
}

fs::path verdict_store::file_of(const verdict_scope& scope) const {
  return folder_ / (scope_id(scope) + ".json");
}

verdict_store::found verdict_store::load(const verdict_scope& scope) const {
  if (folder_.empty() || scope.program == "unreadable") return {};
  const auto file = file_of(scope);
  std::error_code ignored;
  if (!fs::exists(file, ignored)) return {};
  try {
    const auto object = read(file);
    const auto* text = object.if_contains("scope");
    if (text == nullptr || !text->is_string() ||
        text->as_string() != scope_text(scope)) {
      throw input_error(file.string(), "scope is another one");
    }
    const auto* verdicts = object.if_contains("verdicts");
    if (verdicts == nullptr) {
      throw input_error(file.string(), "verdicts is missing");
    }
    return {parse_verdict_table(file.string(), json::serialize(*verdicts)), {}};
  } catch (const std::exception& error) {
    return {std::nullopt,
            std::string{"stored verdicts are ignored: "} + error.what()};
  }
}

void verdict_store::save(const verdict_scope& scope,
                         const verdict_table& table) const {
  if (folder_.empty() || scope.program == "unreadable") return;
  fs::create_directories(folder_);
  const folder_lock lock{folder_};
  const auto file = file_of(scope);
  const auto before = load(scope);
  if (!before.warning.empty()) {
    // Whatever it was, a person may want to see it.
    fs::path aside = file;
    aside += ".unreadable";
    std::error_code ignored;
    fs::rename(file, aside, ignored);
  }
  write_through(
      file, text_of(scope, before.table ? with_trips_of(table, *before.table)
                                        : table));
}

std::vector<std::string> verdict_store::clear(const std::string& model) const {
  std::vector<std::string> gone;
  std::error_code none;
  if (folder_.empty() || !fs::is_directory(folder_, none)) return gone;
  const folder_lock lock{folder_};
  for (const auto& entry : fs::directory_iterator{folder_}) {
    if (entry.path().extension() != ".json") continue;
    try {
      const auto object = read(entry.path());
      const auto* of = object.if_contains("model");
      if (of == nullptr || !of->is_string() || of->as_string() != model) {
        continue;
      }
    } catch (const input_error&) {
      continue;
    }
    if (fs::remove(entry.path())) gone.push_back(entry.path().stem().string());
  }
  return gone;
}

}  // namespace vouch::engine
