// Templates and snippets against transformers' own rendering; the fixtures are
// made by tools/golden/make_templates.py.
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <filesystem>

#include <gtest/gtest.h>
#include <simdjson.h>

#include "tests/engine/chat_template/support.hpp"
#include "tests/support/files.hpp"

namespace vouch::test {
namespace {

namespace dom = simdjson::dom;
using engine::chat_template;
using engine::template_input;

/// A field's JSON text, or "" when it is absent.
std::string json_of(dom::element object, const char* key) {
  dom::element field;
  if (object[key].get(field)) return "";
  return simdjson::to_string(field);
}

std::string string_of(dom::element object, const char* key) {
  std::string_view s;
  if (object[key].get(s)) return "";
  return std::string{s};
}

bool has(dom::element object, const char* key) {
  dom::element field;
  return !object[key].get(field);
}

/// What rendering gives, in the fixtures' terms.
std::string outcome(const chat_template& t, const template_input& input) {
  try {
    return "output: " + joined(t.render(input));
  } catch (const engine::template_error& e) {
    const std::string_view what = e.what();
    const std::size_t at = what.find(": ", what.find("line "));
    return "error: " + std::string{what.substr(at + 2)};
  }
}

std::string expected_outcome(dom::element expected) {
  if (has(expected, "error")) {
    return "error: " + string_of(expected, "error");
  }
  return "output: " + string_of(expected, "output");
}

/// An error without a message is one whose wording is Python's own affair.
bool same(const std::string& got, const std::string& wanted) {
  if (wanted == "error: ") return got.substr(0, 7) == wanted;
  return got == wanted;
}

std::chrono::system_clock::time_point local_time(dom::element now) {
  int parts[6] = {};
  int i = 0;
  for (const dom::element part : dom::array(now)) {
    parts[i++] = static_cast<int>(std::int64_t(part));
  }
  std::tm tm{};
  tm.tm_year = parts[0] - 1900;
  tm.tm_mon = parts[1] - 1;
  tm.tm_mday = parts[2];
  tm.tm_hour = parts[3];
  tm.tm_min = parts[4];
  tm.tm_sec = parts[5];
  tm.tm_isdst = -1;
  return std::chrono::system_clock::from_time_t(std::mktime(&tm));
}

/// chat_template of a GGUF file: a string behind its key.
std::string template_of_gguf(const std::filesystem::path& path) {
  std::ifstream in{path, std::ios::binary};
  std::string head(std::size_t{8} << 20, '\0');
  in.read(head.data(), static_cast<std::streamsize>(head.size()));
  const std::string key = "tokenizer.chat_template";
  const std::size_t at = head.find(key);
  if (at == std::string::npos) return "";
  std::uint64_t length = 0;
  const std::size_t field = at + key.size() + 4;
  std::memcpy(&length, head.data() + field, sizeof length);
  return head.substr(field + 8, length);
}

void check_conversations(dom::element all, int& compared) {
  template_input base;
  base.now = local_time(all["now"]);
  for (const auto token : dom::object(all["special_tokens"])) {
    base.special_tokens.emplace_back(
        std::string{token.key}, std::string{std::string_view(token.value)});
  }
  const dom::array conversations = all["conversations"];
  for (const dom::element entry : dom::array(all["templates"])) {
    const std::string name = string_of(entry, "path");
    const std::filesystem::path path =
        name[0] == '/' ? std::filesystem::path{name} : cached(name);
    if (!std::filesystem::exists(path)) {
      std::cout << path << " is missing: run tools/fetch-test-data\n";
      continue;
    }
    const std::string source =
        path.extension() == ".gguf" ? template_of_gguf(path) : read_file(path);
    const chat_template t{source, name};
    const dom::array expected = entry["expected"];
    for (std::size_t i = 0; i < conversations.size(); ++i) {
      const dom::element c = conversations.at(i);
      template_input input = base;
      input.messages = json_of(c, "messages");
      input.tools = json_of(c, "tools");
      input.variables = json_of(c, "variables");
      input.add_generation_prompt = bool(c["add_generation_prompt"]);
      const std::string wanted = expected_outcome(expected.at(i));
      const std::string got = outcome(t, input);
      ++compared;
      EXPECT_TRUE(same(got, wanted))
          << name << ", conversation '" << string_of(c, "name")
          << "'\n got: " << got << "\nwant: " << wanted;
    }
  }
}

TEST(ChatTemplateGolden, RendersConversationsAsTransformersDoes) {
  dom::parser parser;
  const dom::element all =
      parser.load(fixture("templates/conversations.json").string());
  int compared = 0;
  check_conversations(all, compared);
  if (compared == 0) GTEST_SKIP() << "no template was fetched";
}

TEST(ChatTemplateGolden, RendersMoreTemplatesWhenAsked) {
  const char* path = std::getenv("VOUCH_TEMPLATE_CASES");
  if (!path) GTEST_SKIP() << "VOUCH_TEMPLATE_CASES names no file";
  dom::parser parser;
  int compared = 0;
  check_conversations(parser.load(path), compared);
  std::cout << compared << " conversations compared\n";
}

TEST(ChatTemplateGolden, EvaluatesSnippetsAsTransformersDoes) {
  dom::parser parser;
  const dom::array cases =
      parser.load(fixture("templates/snippets.json").string());
  ASSERT_GT(cases.size(), 300U);
  for (const dom::element c : cases) {
    const std::string source = string_of(c, "source");
    if (has(c, "syntax_error")) {
      EXPECT_THROW((chat_template{source, "t"}), engine::input_error) << source;
      continue;
    }
    template_input input;
    input.variables = json_of(c, "variables");
    input.add_generation_prompt = false;
    try {
      const std::string got = outcome(chat_template{source, "t"}, input);
      const std::string wanted = expected_outcome(c);
      EXPECT_TRUE(same(got, wanted))
          << source << "\n got: " << got << "\nwant: " << wanted;
    } catch (const engine::input_error& e) {
      ADD_FAILURE() << source << "\ndoes not parse: " << e.what();
    }
  }
}

}  // namespace
}  // namespace vouch::test
