#include <iostream>
#include <string>

#include <boost/json.hpp>

#include "cli/bench/figures.hpp"
#include "engine/models/step_profile.hpp"

namespace vouch::cli::bench {

namespace json = boost::json;

namespace {

json::object to_json(const spread& of) {
  return {{"median", of.median}, {"min", of.least}, {"max", of.most}};
}

/// Where a part's figures stand, what their size is called, and their ratio.
struct names {
  part what;
  const char* list;
  const char* size;
  const char* ratio;
  const char* share;
};

constexpr names all_names[] = {
    {part::prefill, "prefill", "tokens", "", "share_of_dot_limit"},
    {part::decode, "decode", "sequences", "", "share_of_read_limit"},
    {part::verify, "verify", "width", "units", ""},
    {part::sampled, "sampled", "sequences", "of_greedy", ""},
    {part::plans, "plans", "rows", "of_invariant", ""},
    {part::contexts, "contexts", "context", "", "share_of_read_limit"},
};

json::object to_json(const figure& of, const names& words) {
  json::object made{{words.size, of.size},
                    {"ms", to_json(scaled(of.seconds, 1e3))},
                    {"tok_s", to_json(inverse(of.seconds, of.tokens))}};
  if (of.base_seconds) {
    made["invariant_ms"] = to_json(scaled(*of.base_seconds, 1e3));
  }
  if (of.ratio) made[words.ratio] = to_json(*of.ratio);
  if (of.share) made[words.share] = *of.share;
  return made;
}

json::object to_json(const part_times& of) {
  json::object parts;
  for (std::size_t p = 0; p < of.seconds.size(); ++p) {
    parts[engine::step_part_names[p]] = 1e3 * of.seconds[p];
  }
  return {{"step", of.step},
          {"device_ms", 1e3 * of.device},
          {"wall_ms", 1e3 * of.wall},
          {"part_ms", std::move(parts)}};
}

}  // namespace

void print_json(const options& chosen, const results& found) {
  json::object out{
      {"model", found.model},
      {"path", found.path},
      {"device", found.device},
      {"threads", found.threads},
      {"kv_type", chosen.kv_type},
      {"plan", chosen.plan},
      {"rounds", chosen.repeat},
      {"steps", chosen.tokens},
      {"depth", found.depth},
      {"weight_bytes", found.weight_bytes},
      {"kv_bytes_per_token", found.kv_token_bytes},
      {"quantized_multiply_adds_per_row", found.row_multiply_adds},
      {"limits",
       {{"read_gb_s", to_json(scaled(found.read_limit, 1e-9))},
        {"dot_gop_s", to_json(scaled(found.dot_limit, 1e-9))},
        {"read_probe_bytes", found.read_probe_bytes}}},
  };
  if (found.load_seconds) out["load_s"] = to_json(*found.load_seconds);
  for (const auto& words : all_names) {
    json::array list;
    for (const auto& each : found.figures) {
      if (each.what == words.what) list.push_back(to_json(each, words));
    }
    if (!list.empty()) out[words.list] = std::move(list);
  }
  json::array parts;
  for (const auto& each : found.parts) parts.push_back(to_json(each));
  if (!parts.empty()) out["parts"] = std::move(parts);
  std::cout << json::serialize(out) << '\n';
}

}  // namespace vouch::cli::bench
