#pragma once

#include <string>
#include <string_view>

namespace vouch::engine {

/// Bytes in, whole UTF-8 out. An incomplete character at the end is kept until
/// the bytes that finish it arrive; definite garbage becomes U+FFFD, one for
/// each maximal invalid part (what Rust's from_utf8_lossy does).
class utf8_stream {
 public:
  /// Appends bytes; returns the text that is now certain.
  std::string push(std::string_view bytes);
  /// The end of the text: what is left, an unfinished character as U+FFFD.
  std::string finish();

 private:
  std::string pending_;
};

}  // namespace vouch::engine
