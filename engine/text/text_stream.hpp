#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "engine/text/stop_matcher.hpp"
#include "engine/text/utf8_stream.hpp"
#include "engine/tokenizer/tokenizer.hpp"
#include "engine/types.hpp"

namespace vouch::engine {

/// Turns one choice's tokens into the text its client sees: incremental UTF-8,
/// special tokens skipped, stop strings cut and held back. The concatenation
/// of everything returned is the final text, byte for byte.
///
/// Stop strings are looked for in the tokens' bytes, not in the text with its
/// replacements, so that a scheduler that only has bytes decides alike. A
/// special token that is skipped ends an unfinished character.
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
  /// Which of the stop strings, by its index; only once stopped.
  std::size_t stop_index() const { return stop_index_; }

 private:
  /// Shows the first `count` held bytes.
  std::string release(std::size_t count);

  std::shared_ptr<const tokenizer> tokenizer_;
  stop_matcher stops_;
  utf8_stream utf8_;
  /// Bytes not yet given to utf8_: the stream's end.
  std::string held_;
  /// Positions in held_ at which a skipped token ends a character.
  std::vector<std::size_t> breaks_;
  bool skip_special_ = true;
  bool include_stop_ = false;
  bool stopped_ = false;
  std::size_t stop_index_ = 0;
};

}  // namespace vouch::engine
