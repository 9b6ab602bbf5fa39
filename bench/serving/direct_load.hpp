#pragma once

#include <cstdint>
#include <vector>

#include "bench/http/report.hpp"
#include "runtime/runtime.hpp"

namespace vouch::bench {

/// `streams` actors that each run `requests` requests of `tokens` tokens, one
/// after the other, through runtime::submit: the same work as the load
/// client's, without HTTP. Blocks until all have ended.
std::vector<client_record> run_direct(caf::actor_system& system,
                                      runtime::runtime& model, int streams,
                                      int requests, std::int64_t tokens,
                                      std::size_t prompt_bytes);

}  // namespace vouch::bench
