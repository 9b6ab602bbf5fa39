#include "engine/text/utf8_stream.hpp"

#include "engine/text/utf8.hpp"

namespace vouch::engine {

namespace {

constexpr std::string_view replacement = "\xEF\xBF\xBD";

}  // namespace

std::string utf8_stream::push(std::string_view bytes) {
  std::string joined;
  if (!pending_.empty()) {
    joined = std::move(pending_);
    pending_.clear();
    joined += bytes;
    bytes = joined;
  }
  std::string out;
  out.reserve(bytes.size());
  for (std::size_t at = 0; at < bytes.size();) {
    const utf8_step step = next_utf8(bytes, at);
    if (step.what == utf8_step::kind::incomplete) {
      pending_ = bytes.substr(at);
      break;
    }
    if (step.what == utf8_step::kind::invalid) {
      out += replacement;
    } else {
      out += bytes.substr(at, step.bytes);
    }
    at += step.bytes;
  }
  return out;
}

std::string utf8_stream::finish() {
  // What is pending is one unfinished character, so one replacement.
  const bool unfinished = !pending_.empty();
  pending_.clear();
  return unfinished ? std::string{replacement} : std::string{};
}

}  // namespace vouch::engine
