#pragma once

#include <cstdint>
#include <filesystem>
#include <initializer_list>
#include <limits>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace vouch::engine {

/// A TOML file read strictly. Keys are dotted ("limits.max_running"). Each
/// getter leaves its argument alone and returns false when the key is absent;
/// a wrong type or a value out of range throws input_error
/// "FILE:LINE: key: what is wrong". `finish` refuses every key that no getter
/// asked for, so a misspelt key can never be ignored.
class toml_reader {
 public:
  /// Throws input_error when the file cannot be read or is not TOML.
  static toml_reader from_file(const std::filesystem::path& file);
  /// `name` is what errors and origins call the text.
  static toml_reader from_text(std::string_view toml, std::string name);

  ~toml_reader();
  toml_reader(toml_reader&&) noexcept;
  toml_reader& operator=(toml_reader&&) noexcept;

  bool boolean(std::string_view key, bool& value);
  /// Range ends are included.
  bool integer(std::string_view key, std::int64_t& value, std::int64_t min,
               std::int64_t max);
  bool integer(std::string_view key, std::int32_t& value,
               std::int32_t min = std::numeric_limits<std::int32_t>::min(),
               std::int32_t max = std::numeric_limits<std::int32_t>::max());
  /// Integers are numbers too; NaN is never in range.
  bool number(std::string_view key, double& value, double min, double max);
  bool string(std::string_view key, std::string& value);
  bool strings(std::string_view key, std::vector<std::string>& values);

  /// One of a few words, each standing for a value.
  template <class T>
  bool one_of(std::string_view key, T& value,
              std::initializer_list<std::pair<const char*, T>> words) {
    std::string word;
    if (!string(key, word)) return false;
    std::vector<std::string> known;
    for (const auto& [name, meaning] : words) {
      if (word == name) {
        value = meaning;
        return true;
      }
      known.emplace_back(name);
    }
    fail_word(key, word, known);
  }

  /// Throws when the key, or a table of that name, is there: a feature whose
  /// keys are known but that does not exist yet.
  void refuse(std::string_view key, std::string_view why);

  /// The key is in the file.
  bool has(std::string_view key) const;
  /// Throws for a key, with its line when the file has it. For checks of
  /// values against each other.
  [[noreturn]] void fail(std::string_view key, std::string_view why) const;

  /// Throws for the first key (by line) that no getter asked for, with the
  /// nearest known key as a suggestion. Call it last.
  void finish() const;

  /// "FILE:LINE" of every value a getter has read, by dotted key.
  const std::map<std::string, std::string>& origins() const;
  const std::string& name() const;

 private:
  struct impl;
  explicit toml_reader(std::unique_ptr<impl> state);
  [[noreturn]] void fail_word(std::string_view key, const std::string& word,
                              const std::vector<std::string>& known) const;
  std::unique_ptr<impl> impl_;
};

/// The candidate that `word` most likely means, or empty when none is near:
/// edit distance (Levenshtein, with swapped neighbours counted once) of at most
/// 2, or a third of the word for long words.
std::string nearest_word(std::string_view word,
                         const std::vector<std::string>& candidates);

}  // namespace vouch::engine
