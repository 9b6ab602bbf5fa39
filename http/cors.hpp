#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "http/reply.hpp"

namespace vouch::http {

/// The headers (whole lines) that let a page of `origin` read the answer, for
/// `allowed` origins ("*": any); empty when none are allowed at all. A page of
/// another origin gets `vary` alone.
std::string cors_headers(std::string_view origin,
                         const std::vector<std::string>& allowed);

/// `origin` is one of `allowed`.
bool cors_allows(std::string_view origin,
                 const std::vector<std::string>& allowed);

/// The answer to a preflight of an allowed origin: every method and whatever
/// headers it asks for. A preflight carries no key, so it tells nothing else.
reply preflight_reply(std::string_view requested_headers);

}  // namespace vouch::http
