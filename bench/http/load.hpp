#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "bench/http/prompts.hpp"
#include "bench/http/report.hpp"

namespace vouch::bench {

/// What a run asks of the server.
struct load_options {
  std::string host = "127.0.0.1";
  std::uint16_t port = 8080;
  /// What stands before /v1 in the path; usually empty.
  std::string base_path;
  std::string api_key;
  std::string model;
  bool chat = false;
  int clients = 8;
  /// Of each client, one after the other on one connection.
  int requests = 1;
  std::int64_t max_tokens = 128;
  double temperature = 0;
  double top_p = 1;
  std::optional<std::int64_t> seed;
  /// All answers have max_tokens tokens (vLLM's and llama.cpp's field).
  bool ignore_eos = true;
  /// Seconds without a byte after which a request has failed.
  double timeout_s = 120;
  /// Request r of client c takes prompt (c * requests + r) modulo their count.
  std::vector<prompt> prompts;
};

struct load_result {
  std::vector<client_record> clients;
  /// From the first request to the last answer; connecting comes before.
  double wall_s = 0;
};

/// Connects all clients, then lets them send their first request at once, in
/// this one thread. A request that fails ends its client and is recorded.
/// Throws std::runtime_error when the server cannot be reached.
load_result run_load(const load_options& options);

}  // namespace vouch::bench
