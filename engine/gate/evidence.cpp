#include "engine/gate/evidence.hpp"

#include <utility>

#include <boost/json.hpp>

#include "engine/gate/write_file.hpp"

namespace vouch::engine {
namespace {

namespace json = boost::json;

json::string hex(std::uint64_t hash) {
  constexpr std::string_view digits = "0123456789abcdef";
  json::string text;
  for (int shift = 60; shift >= 0; shift -= 4) {
    text += digits[(hash >> static_cast<unsigned>(shift)) & 15U];
  }
  return text;
}

json::array hex(const std::vector<std::uint64_t>& hashes) {
  json::array all;
  for (const auto each : hashes) all.push_back(hex(each));
  return all;
}

template <class Number>
json::array array_of(const std::vector<Number>& numbers) {
  return json::array(numbers.begin(), numbers.end());
}

json::array states_of(const std::vector<logits_state>& states) {
  json::array all;
  for (const auto each : states) all.push_back(static_cast<int>(each));
  return all;
}

json::object object_of(const sampling_params& p) {
  json::array bias;
  for (const auto& [token, by] : p.logit_bias) {
    bias.push_back(json::array{token, by});
  }
  return {{"temperature", p.temperature},
          {"top_k", p.top_k},
          {"top_p", p.top_p},
          {"min_p", p.min_p},
          {"presence_penalty", p.presence_penalty},
          {"frequency_penalty", p.frequency_penalty},
          {"repetition_penalty", p.repetition_penalty},
          {"logit_bias", std::move(bias)},
          {"stop_tokens", array_of(p.stop_tokens)},
          {"request_stop_tokens", array_of(p.request_stop_tokens)},
          {"min_tokens", p.min_tokens},
          {"ignore_eos", p.ignore_eos},
          {"seed", p.seed},
          {"choice", p.choice},
          {"vocab_limit", p.vocab_limit}};
}

json::object object_of(const step_item& item) {
  return {{"slot", item.slot},
          {"kind", static_cast<int>(item.kind)},
          {"position", item.position},
          {"tokens", array_of(item.tokens)},
          {"input_is_last_pick", item.input_is_last_pick},
          {"blocks", array_of(item.blocks)},
          {"logits_begin", item.logits_begin},
          {"pick_begin", item.pick_begin},
          {"next_token", item.next_token},
          {"hash_logits", item.hash_logits}};
}

json::object object_of(const step& work) {
  json::array copies;
  for (const auto& copy : work.copies) {
    copies.push_back(json::array{copy.from, copy.to});
  }
  json::array items;
  for (const auto& item : work.items) items.push_back(object_of(item));
  return {{"id", work.id},
          {"copies", std::move(copies)},
          {"items", std::move(items)}};
}

json::object object_of(const audit_record& r) {
  return {{"id", r.id},
          {"kind", static_cast<int>(r.kind)},
          {"cached_prefix", r.cached_prefix},
          {"batched", r.batched},
          {"position", r.position},
          {"rows", r.rows},
          {"tokens", array_of(r.tokens)},
          {"sampling", object_of(r.sampling)},
          {"prompt_tokens", r.prompt_tokens},
          {"hash_begin", r.hash_begin},
          {"logits_hashes", hex(r.logits_hashes)},
          {"logits_states", states_of(r.logits_states)},
          {"blocks", array_of(r.blocks)},
          {"step", object_of(r.work ? *r.work : step{})}};
}

json::object object_of(const audit_finding& f) {
  json::array classic;
  for (const auto& row : f.classic) {
    classic.push_back(json::object{{"position", row.position},
                                   {"logits", hex(row.logits)},
                                   {"state", static_cast<int>(row.state)},
                                   {"pick", row.pick},
                                   {"kv", hex(row.kv)}});
  }
  const divergence at = f.first.value_or(divergence{});
  return {{"cold", f.cold},
          {"rows", f.rows},
          {"kv_rows", f.kv_rows},
          {"first",
           {{"position", at.position},
            {"row", at.row},
            {"differing_bytes", at.differing_bytes},
            {"total_bytes", at.total_bytes},
            {"where", at.where}}},
          {"record", object_of(f.record)},
          {"classic", std::move(classic)},
          {"kv_begin", f.kv_begin},
          {"kv", hex(f.kv)}};
}

}  // namespace

std::string json_of(const trip_evidence& e) {
  return json::serialize(
             json::object{{"format", 1},
                          {"scope", e.scope},
                          {"scope_id", e.scope_id},
                          {"when_ms", e.when_ms},
                          {"before", json::parse(json_of(e.before))},
                          {"finding", object_of(e.finding)}}) +
         '\n';
}

std::filesystem::path write_evidence(const std::filesystem::path& folder,
                                     const trip_evidence& evidence) {
  auto own =
      folder / (evidence.scope_id + "-" + std::to_string(evidence.when_ms));
  std::filesystem::create_directories(own);
  // The texts of requests are in it.
  std::filesystem::permissions(own, std::filesystem::perms::owner_all);
  write_through(own / "trip.json", json_of(evidence), 0600);
  return own;
}

}  // namespace vouch::engine
