#pragma once

#include <chrono>
#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "engine/error.hpp"
#include "engine/tokenizer/tokenizer.hpp"

namespace vouch::engine {

/// A template raised an error (raise_exception, or an operation that the
/// template language forbids). what() carries the template's own message and
/// the line.
class template_error : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// What a rendering may cost before it is stopped with a template_error.
struct template_budget {
  std::size_t steps = 2'000'000;
  std::size_t output_bytes = std::size_t{16} << 20;
};

/// What one rendering is given, as JSON text so that key order is preserved.
struct template_input {
  /// JSON array of messages.
  std::string messages = "[]";
  /// JSON array of tools, or empty for none.
  std::string tools;
  /// JSON object of extra variables (chat_template_kwargs), or empty.
  std::string variables;
  bool add_generation_prompt = true;
  /// The special-token strings that exist: {"bos_token", "<s>"}, ...
  std::vector<std::pair<std::string, std::string>> special_tokens;
  /// What strftime_now prints; the caller's clock.
  std::chrono::system_clock::time_point now{};
  template_budget budget;
};

/// A parsed chat template: Jinja as transformers sets it up (trim_blocks,
/// lstrip_blocks, loop controls, generation blocks, immutable sandbox).
/// Immutable; render may be called from many threads.
class chat_template {
 public:
  /// Parses `source`; `name` is what errors call it. Throws input_error with
  /// the line.
  chat_template(std::string_view source, std::string name);
  ~chat_template();
  chat_template(chat_template&&) noexcept;
  chat_template& operator=(chat_template&&) noexcept;

  /// Renders to spans that say where their text came from: `trusted` is what
  /// the template itself wrote, the rest came from the input. Throws
  /// template_error; std::invalid_argument when the JSON is malformed.
  std::vector<text_span> render(const template_input& input) const;

 private:
  struct impl;
  std::unique_ptr<const impl> impl_;
};

/// The spans' texts joined.
std::string joined(const std::vector<text_span>& spans);

}  // namespace vouch::engine
