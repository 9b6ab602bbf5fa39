#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "engine/schedule/policy.hpp"

namespace vouch::runtime {

/// Everything the server and the embedder can set: one TOML file, flags and
/// environment over it. Field names are the keys.
struct config {
  struct {
    std::string host = "127.0.0.1";
    std::int32_t port = 8080;
    /// Keys that may be used; empty: no key is asked for.
    std::vector<std::string> api_keys;
    /// Origins whose web pages may read answers ("*": any); empty: no CORS.
    std::vector<std::string> cors_origins;
    std::int64_t max_body_bytes = 8 << 20;
    /// Of all requests together; a body counts as it comes, until the answer's
    /// end.
    std::int64_t max_body_bytes_in_flight = 256 << 20;
    std::int64_t max_header_bytes = 16 << 10;
    std::int32_t max_connections = 4096;
    std::int32_t max_n = 16;
    std::int32_t max_top_logprobs = 20;
    std::int32_t max_stop_strings = 16;
    std::int32_t max_json_depth = 64;
    /// Seconds.
    double idle_timeout = 75.0;
    /// Seconds a client may leave a write pending.
    double write_timeout = 30.0;
    std::int64_t max_pending_write_bytes = 1 << 20;
    /// Seconds SIGTERM waits for running requests.
    double drain_timeout = 30.0;
    /// Unknown request fields are an error.
    bool strict = false;
    /// /metrics shows the common families under their `vllm:` names as well.
    bool vllm_metric_names = false;
    /// I/O threads.
    std::int32_t threads = 1;
  } server;
  struct {
    std::string path;
    /// What /v1/models calls it; empty: the model's own name.
    std::string name;
    /// A .jinja file that replaces the model's own template.
    std::string chat_template;
  } model;
  struct {
    /// 0: one a core.
    std::int32_t threads = 0;
    /// The CPUs of the compute threads, "0-3,8"; empty: any.
    std::string cpu_list;
    /// "f16" or "f32".
    std::string kv_type = "f16";
    /// 0: as many blocks as kv_memory_mib holds.
    std::int32_t kv_blocks = 0;
    std::int64_t kv_memory_mib = 1024;
    /// 0: the model's own.
    std::int32_t max_context = 0;
    std::int32_t steps_in_flight = 1;
    /// Time steps of a few sizes before serving.
    bool measure_costs = true;
  } engine;
  struct {
    /// "lookup", "none", "scripted:...", or the file or folder of a drafter.
    std::string drafter = "lookup";
    /// Rows of the widest verify block (2 to engine::max_round_width): its
    /// drafts and the token before them.
    std::int32_t width = 8;
    /// For the contexts of a drafter that runs a model.
    std::int64_t drafter_memory_mib = 1024;
    /// Lengths of the n-grams that prompt lookup looks for.
    std::int32_t lookup_min = 2;
    std::int32_t lookup_max = 4;
    /// "auto": widths by expected tokens per second; "fixed": always the widest
    /// that is vouched for.
    std::string controller = "auto";
    /// "on", or "off": the gate measures nothing, its verdict is not_run.
    std::string probe = "on";
    /// Share of the time of all steps that auditing may take; 0: no audit.
    double audit_share = 0.01;
    /// An escape: engages bursts that the gate declines.
    bool allow_inexact = false;
    /// Where verdicts and trips are kept; empty: in the user's cache folder;
    /// "none": nowhere.
    std::string verdict_dir;
    /// Where a trip's evidence goes; as verdict_dir.
    std::string evidence_dir;
    /// A file that the transcript of all rounds is appended to; empty: none.
    std::string transcript;
  } speculation;
  struct {
    /// Planted faults, which corrupt what is computed: docs/faults.md.
    std::vector<std::string> faults;
  } test;
  struct {
    /// "invariant" or "fast", under which text depends on load.
    std::string plan = "invariant";
  } kernels;
  struct {
    /// trace, debug, info, warn, error.
    std::string level = "info";
    /// text, json or auto (json when not on a terminal).
    std::string format = "auto";
  } log;
  /// Policy file; empty: the defaults.
  std::string policy_file;
  engine::policy policy;
  /// Where the policy file sets each key of `policy`: "policy.toml:3".
  std::map<std::string, std::string> policy_origins;
};

}  // namespace vouch::runtime
