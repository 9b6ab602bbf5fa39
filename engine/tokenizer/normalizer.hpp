#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "engine/tokenizer/regex.hpp"

namespace vouch::engine {

/// Text with a note for every byte: which span it came from. The notes survive
/// normalisation, so that added tokens found in normalised text can still be
/// held to their span. `origin` is empty where nobody needs it.
struct traced_text {
  std::string text;
  std::vector<std::uint32_t> origin;

  bool traced() const { return !origin.empty(); }
  /// Appends bytes that came from `source`'s byte `at`.
  void append(std::string_view bytes, const traced_text& source,
              std::size_t at);
};

/// One step of a tokenizer.json normalizer. Its input is valid UTF-8.
class normalizer_step {
 public:
  virtual ~normalizer_step() = default;
  virtual void apply(traced_text& text) const = 0;
  /// A Unicode normalisation form: what encode_options::normalize turns off.
  virtual bool unicode_form() const { return false; }
};

using normalizer_steps = std::vector<std::unique_ptr<const normalizer_step>>;

/// Canonical composition (NFC) or, with composed = false, decomposition (NFD).
std::unique_ptr<normalizer_step> make_unicode_form(bool composed);
/// Puts `prefix` before text that is not empty.
std::unique_ptr<normalizer_step> make_prepend(std::string prefix);
std::unique_ptr<normalizer_step> make_replace(std::string from, std::string to);
std::unique_ptr<normalizer_step> make_replace(regex from, std::string to);
std::unique_ptr<normalizer_step> make_lowercase();
/// Removes white space at the ends.
std::unique_ptr<normalizer_step> make_strip(bool left, bool right);

/// Runs the steps in order; `unicode_forms` false leaves those out.
void normalize(const normalizer_steps& steps, bool unicode_forms,
               traced_text& text);

}  // namespace vouch::engine
