#include "engine/speculation/transcript.hpp"

#include <boost/json.hpp>

namespace vouch::engine {
namespace {

namespace json = boost::json;

json::array array_of(const std::vector<token_id>& tokens) {
  return json::array(tokens.begin(), tokens.end());
}

json::object head(const char* record, const sequence_name& name) {
  return {
      {"record", record}, {"request", name.request}, {"choice", name.choice}};
}

void add(json::object& to, const transcript_sequence& of) {
  const auto widths = of.widths.widths();
  to["prompt_tokens"] = of.prompt_tokens;
  to["last_token"] = of.last_token;
  to["budget"] = of.budget;
  to["context"] = of.context;
  to["stop_tokens"] = array_of(of.stop_tokens);
  to["widths"] = json::array(widths.begin(), widths.end());
  to["seed"] = of.seed;
  to["drafter"] = of.drafter;
}

void add(json::object& to, const transcript_burst& of) {
  to["burst"] = of.burst;
  to["generated"] = of.generated;
  to["last_token"] = of.last_token;
  to["cache"] = of.cache;
  to["verdict"] = of.verdict;
}

void add(json::object& to, const transcript_round& of) {
  to["burst"] = of.burst;
  to["round"] = of.round;
  to["width"] = of.width;
  to["position"] = of.position;
  to["anchor"] = of.anchor;
  to["drafts"] = array_of(of.drafts);
  to["picks"] = array_of(of.picks);
  to["accepted"] = of.accepted;
  to["emitted"] = array_of(of.emitted);
  to["cache_before"] = of.cache_before;
  to["cache_after"] = of.cache_after;
  to["seed"] = of.seed;
  to["sampler_position"] = of.sampler_position;
  to["verdict"] = of.verdict;
  to["end"] = name_of(of.end);
}

}  // namespace

std::string to_line(const transcript_record& record) {
  constexpr const char* kinds[] = {"sequence", "burst", "round"};
  const auto fields = std::visit(
      [&](const auto& of) {
        auto object = head(kinds[record.index()], of.name);
        add(object, of);
        return object;
      },
      record);
  return json::serialize(fields) + '\n';
}

}  // namespace vouch::engine
