#include "engine/drafters/script_text.hpp"

#include <array>
#include <charconv>
#include <utility>
#include <vector>

#include "engine/checkpoint/json_file.hpp"
#include "engine/error.hpp"
#include "engine/file_text.hpp"

namespace vouch::engine {

namespace {

constexpr std::string_view forms =
    "right, wrong, alternating, random, empty, p=0.8,0.7, with @FILE where it "
    "must know the text";

[[noreturn]] void refuse(std::string_view text, const std::string& what) {
  throw input_error{"scripted:" + std::string{text}, what};
}

std::vector<double> read_probabilities(std::string_view text) {
  std::vector<double> result;
  auto rest = text.substr(2);
  while (true) {
    const auto comma = rest.find(',');
    const auto word = rest.substr(0, comma);
    double value = 0;
    const auto [end, error] =
        std::from_chars(word.data(), word.data() + word.size(), value);
    if (error != std::errc{} || end != word.data() + word.size() ||
        !(value >= 0 && value <= 1)) {
      refuse(text, "no probability in [0, 1]: " + std::string{word});
    }
    result.push_back(value);
    if (comma == std::string_view::npos) return result;
    rest.remove_prefix(comma + 1);
  }
}

}  // namespace

draft_oracle read_oracle(const std::string& file, token_id vocabulary) {
  const auto text = read_file_text(file);
  std::vector<std::vector<token_id>> texts;
  int number = 0;
  for (std::size_t at = 0; at < text.size();) {
    const auto end = std::min(text.find('\n', at), text.size());
    const auto line = std::string_view{text}.substr(at, end - at);
    at = end + 1;
    ++number;
    if (line.find_first_not_of(" \t\r") == std::string_view::npos) continue;
    const auto where = file + ":" + std::to_string(number);
    const auto object = json_object::parse(where, line);
    auto& tokens = texts.emplace_back();
    for (const auto id : object.integers("tokens")) {
      if (id < 0 || id >= vocabulary) {
        object.fail("tokens", "names the token " + std::to_string(id) + " of " +
                                  std::to_string(vocabulary));
      }
      tokens.push_back(static_cast<token_id>(id));
    }
    if (tokens.empty()) object.fail("tokens", "is missing or empty");
  }
  if (texts.empty()) throw input_error{file, "holds no texts"};
  return oracle_of_texts(std::move(texts));
}

scripted_options parse_script(std::string_view text, token_id vocabulary,
                              draft_oracle oracle) {
  constexpr std::array<std::pair<std::string_view, script>, 5> modes{
      {{"right", script::right},
       {"wrong", script::wrong},
       {"alternating", script::alternating},
       {"random", script::random},
       {"empty", script::empty}}};
  const auto at = text.find('@');
  const auto mode = text.substr(0, at);
  scripted_options result;
  result.vocabulary = vocabulary;
  result.oracle = std::move(oracle);
  if (mode.starts_with("p=")) {
    result.mode = script::probable;
    result.probabilities = read_probabilities(mode);
  } else {
    bool known = false;
    for (const auto& [name, value] : modes) {
      if (name != mode) continue;
      result.mode = value;
      known = true;
    }
    if (!known) refuse(mode, "is no script (" + std::string{forms} + ")");
  }
  if (at != std::string_view::npos) {
    result.oracle = read_oracle(std::string{text.substr(at + 1)}, vocabulary);
  }
  const bool asks =
      result.mode != script::random && result.mode != script::empty;
  if (asks && !result.oracle) {
    refuse(mode, "must know the text: scripted:" + std::string{mode} +
                     "@FILE, JSON lines of {\"tokens\": [...]}");
  }
  return result;
}

}  // namespace vouch::engine
