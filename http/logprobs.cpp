#include "http/logprobs.hpp"

#include <cmath>
#include <string_view>

#include "http/text.hpp"

namespace vouch::http {

namespace json = boost::json;

namespace {

// JSON has no infinities: OpenAI's number for "never". NaN: there is none.
json::value logprob_value(float logprob) {
  if (std::isnan(logprob)) return nullptr;
  if (std::isinf(logprob)) return -9999.0;
  return static_cast<double>(logprob);
}

json::array byte_list(std::string_view bytes) {
  json::array list;
  list.reserve(bytes.size());
  for (const char c : bytes) list.push_back(static_cast<unsigned char>(c));
  return list;
}

json::object described(const std::string& bytes, float logprob) {
  json::object entry;
  entry["token"] = valid_utf8(bytes);
  entry["logprob"] = logprob_value(logprob);
  entry["bytes"] = byte_list(bytes);
  return entry;
}

json::object prompt_entry(const std::string& bytes, float logprob,
                          json::value rank) {
  json::object entry;
  entry["logprob"] = logprob_value(logprob);
  entry["rank"] = std::move(rank);
  entry["decoded_token"] = valid_utf8(bytes);
  return entry;
}

}  // namespace

std::vector<actors::token_info> likeliest(
    std::vector<actors::token_info> tokens, std::size_t most) {
  for (auto& token : tokens) {
    if (token.top.size() > most) token.top.resize(most);
  }
  return tokens;
}

json::object chat_logprobs(const std::vector<actors::token_info>& tokens,
                           const token_bytes_function& token_bytes) {
  json::array content;
  for (const auto& token : tokens) {
    auto entry = described(token.bytes, token.logprob);
    json::array top;
    for (const auto& other : token.top)
      top.push_back(described(token_bytes(other.token), other.logprob));
    entry["top_logprobs"] = std::move(top);
    content.push_back(std::move(entry));
  }
  json::object result;
  result["content"] = std::move(content);
  result["refusal"] = nullptr;
  return result;
}

json::object completion_logprobs(const std::vector<actors::token_info>& tokens,
                                 std::size_t& offset,
                                 const token_bytes_function& token_bytes) {
  json::array pieces;
  json::array logprobs;
  json::array tops;
  json::array offsets;
  for (const auto& token : tokens) {
    pieces.push_back(json::value(valid_utf8(token.bytes)));
    logprobs.push_back(logprob_value(token.logprob));
    if (std::isnan(token.logprob)) {
      tops.push_back(nullptr);
    } else {
      json::object top;
      for (const auto& other : token.top)
        top[valid_utf8(token_bytes(other.token))] =
            logprob_value(other.logprob);
      tops.push_back(std::move(top));
    }
    offsets.push_back(offset);
    offset += characters(token.bytes);
  }
  json::object result;
  result["tokens"] = std::move(pieces);
  result["token_logprobs"] = std::move(logprobs);
  result["top_logprobs"] = std::move(tops);
  result["text_offset"] = std::move(offsets);
  return result;
}

json::array prompt_logprobs(const std::vector<actors::token_info>& tokens,
                            const token_bytes_function& token_bytes) {
  json::array list;
  for (const auto& token : tokens) {
    if (std::isnan(token.logprob)) {
      list.push_back(nullptr);
      continue;
    }
    json::object entry;
    entry[std::to_string(token.token)] =
        prompt_entry(token.bytes, token.logprob, nullptr);
    std::int64_t rank = 0;
    for (const auto& other : token.top) {
      entry[std::to_string(other.token)] =
          prompt_entry(token_bytes(other.token), other.logprob, ++rank);
    }
    list.push_back(std::move(entry));
  }
  return list;
}

}  // namespace vouch::http
