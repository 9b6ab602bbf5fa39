#include "bench/http/prompts.hpp"

#include <array>
#include <fstream>
#include <stdexcept>
#include <string_view>

#include <boost/json.hpp>

namespace vouch::bench {

namespace json = boost::json;

namespace {

constexpr std::array<std::string_view, 48> vocabulary{
    "the",     "river",  "small", "machine", "counts",  "every",   "letter",
    "that",    "winter", "sends", "across",  "an",      "open",    "field",
    "while",   "seven",  "birds", "discuss", "weather", "and",     "music",
    "about",   "code",   "which", "nobody",  "reads",   "twice",   "because",
    "morning", "light",  "makes", "old",     "paper",   "yellow",  "under",
    "glass",   "when",   "time",  "moves",   "slowly",  "through", "houses",
    "of",      "stone",  "with",  "green",   "doors",   "today"};

prompt as_prompt(const std::string& text, bool chat) {
  if (!chat) return {json::serialize(json::string{text}), "prompt"};
  json::object message;
  message["role"] = "user";
  message["content"] = text;
  return {json::serialize(json::array{std::move(message)}), "messages"};
}

}  // namespace

std::vector<prompt> varied_prompts(std::size_t count, std::size_t words,
                                   const std::string& salt, bool chat) {
  std::vector<prompt> result;
  for (std::size_t i = 0; i < count; ++i) {
    auto text = std::to_string(i) + salt;
    // A small linear congruence: every prompt its own walk through the words.
    std::size_t state = i * 7919 + 17;
    for (std::size_t w = 1; w < words; ++w) {
      state = (state * 1103515245 + 12345) % 2147483648;
      text += ' ';
      text += vocabulary[state / 65536 % vocabulary.size()];
    }
    result.push_back(as_prompt(text, chat));
  }
  return result;
}

std::vector<prompt> read_prompts(const std::string& file, bool chat) {
  std::ifstream in{file};
  if (!in) throw std::runtime_error{file + ": cannot be read"};
  std::vector<prompt> result;
  std::size_t number = 0;
  for (std::string line; std::getline(in, line);) {
    ++number;
    if (line.find_first_not_of(" \t\r") == std::string::npos) continue;
    const auto bad = [&](const std::string& why) {
      return std::runtime_error{file + ":" + std::to_string(number) + ": " +
                                why};
    };
    boost::system::error_code failed;
    const auto value = json::parse(line, failed);
    if (failed) throw bad("not JSON: " + failed.message());
    const auto* object = value.if_object();
    const auto* text = value.if_string();
    if (object) {
      const auto* messages = object->if_contains("messages");
      if (messages && messages->is_array()) {
        if (!chat) throw bad("messages need --chat");
        result.push_back({json::serialize(*messages), "messages"});
        continue;
      }
      const auto* inner = object->if_contains("prompt");
      text = inner ? inner->if_string() : nullptr;
    }
    if (!text) {
      throw bad(
          "expected a string, or an object with \"prompt\" (a string) or "
          "\"messages\" (a list)");
    }
    result.push_back(as_prompt(std::string{*text}, chat));
  }
  if (result.empty()) throw std::runtime_error{file + ": holds no prompt"};
  return result;
}

}  // namespace vouch::bench
