#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "engine/text/stop_matcher.hpp"
#include "engine/text/utf8_stream.hpp"
#include "engine/tokenizer/tokenizer.hpp"
#include "engine/types.hpp"

namespace vouch::engine {

/// Turns one choice's tokens into the text its client sees: incremental UTF-8,
/// special tokens skipped, stop strings cut and held back. The concatenation
/// of everything returned is the final text, byte for byte.
class text_stream {
 public:
  text_stream(std::shared_ptr<const tokenizer> tokens,
              std::vector<std::string> stop_strings, bool skip_special_tokens,
              bool include_stop_string = false);

  /// Adds a token; returns the text that may be shown now. After a stop string
  /// was found, nothing more comes.
  std::string push(token_id token);
  /// The end: everything held back that no stop string claimed.
  std::string finish();
  /// A stop string was found.
  bool stopped() const { return stopped_; }

 private:
  std::shared_ptr<const tokenizer> tokenizer_;
  stop_matcher stops_;
  utf8_stream utf8_;
  std::string held_;
  bool skip_special_ = true;
  bool include_stop_ = false;
  bool stopped_ = false;
};

}  // namespace vouch::engine
