#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace vouch::http {

/// `bytes` as UTF-8: what is not valid becomes U+FFFD.
std::string valid_utf8(std::string_view bytes);

/// At most `limit` bytes of valid UTF-8, cut between characters, "..." after a
/// cut.
std::string shortened(std::string_view text, std::size_t limit);

/// Characters (code points) in valid UTF-8; in a piece of it, those that begin
/// there.
std::size_t characters(std::string_view text);

/// `count` random hex digits, for ids.
std::string random_hex(std::size_t count);

/// Equal, in a time that depends on the lengths alone.
bool equal_constant_time(std::string_view a, std::string_view b);

}  // namespace vouch::http
