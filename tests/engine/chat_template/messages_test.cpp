// What happens to a conversation before the template sees it, and input that
// is not one.
#include <gtest/gtest.h>

#include "tests/engine/chat_template/support.hpp"

namespace vouch::test {
namespace {

using engine::chat_template;
using engine::template_input;

std::string render_messages(std::string_view source,
                            const std::string& messages) {
  template_input input;
  input.messages = messages;
  return render(source, input);
}

TEST(ChatTemplateMessages, NullKeysAreDroppedAtTheTopOnly) {
  EXPECT_EQ(
      render_messages("{{ messages[0].content is defined }} {{ messages[0] }}",
                      R"([{"role":"user","content":null,"x":{"y":null}}])"),
      "False {'role': 'user', 'x': {'y': None}}");
}

TEST(ChatTemplateMessages, ReasoningIsCopiedToBothNames) {
  EXPECT_EQ(
      render_messages("{{ messages[0] }}", R"([{"role":"a","reasoning":"r"}])"),
      "{'thinking': 'r', 'role': 'a', 'reasoning': 'r', "
      "'reasoning_content': 'r'}");
  EXPECT_EQ(
      render_messages(
          "{{ messages[0] }}",
          R"([{"reasoning":"r","thinking":"t","reasoning_content":"c"}])"),
      "{'thinking': 't', 'reasoning': 'r', 'reasoning_content': 'c'}");
  EXPECT_EQ(
      render_messages("{{ messages[0] }}", R"([{"role":"a","thinking":"t"}])"),
      "{'thinking': 't', 'role': 'a', 'reasoning_content': 't'}");
}

constexpr const char* with_arguments =
    R"([{"role":"assistant","tool_calls":[{"function":{"name":"f",
        "arguments":"{\"b\": 1, \"a\": [true]}"}}]}])";

TEST(ChatTemplateMessages, TextArgumentsBecomeAMapping) {
  EXPECT_EQ(
      render_messages(
          "{% for k, v in messages[0].tool_calls[0].function.arguments|items "
          "%}{{ k }}={{ v }};{% endfor %}",
          with_arguments),
      "b=1;a=[True];");
}

TEST(ChatTemplateMessages, ATemplateThatNeedsTextGetsIt) {
  EXPECT_EQ(render_messages(
                "{{ 'A' + messages[0].tool_calls[0].function.arguments }}",
                with_arguments),
            R"(A{"b": 1, "a": [true]})");
}

TEST(ChatTemplateMessages, ArgumentsThatAreNoObjectStayText) {
  for (const char* arguments : {"[1]", "not json", "{\\\"a\\\":", ""}) {
    const std::string messages =
        std::string{R"([{"tool_calls":[{"function":{"arguments":")"} +
        arguments + R"("}}]}])";
    EXPECT_EQ(
        render_messages(
            "{{ messages[0].tool_calls[0].function.arguments is string }}",
            messages),
        "True")
        << arguments;
  }
}

TEST(ChatTemplateMessages, KeyOrderIsKept) {
  EXPECT_EQ(render_with("{{ d|tojson }}",
                        R"({"d": {"z": 1, "a": {"y": 2, "b": 3}}})"),
            R"({"z": 1, "a": {"y": 2, "b": 3}})");
}

TEST(ChatTemplateMessages, ManyKeysAreFoundAndKeepTheirOrder) {
  std::string variables = R"({"d": {)";
  std::string want;
  for (int i = 0; i < 100; ++i) {
    const std::string n = std::to_string(i * 7 % 100);
    if (i > 0) {
      variables.append(",");
      want.append(",");
    }
    variables.append("\"k").append(n).append("\":").append(n);
    want.append(n);
  }
  EXPECT_EQ(render_with("{{ d.values()|join(',') }} {{ d.k49 }} {{ d['k99'] }}",
                        variables.append("}}")),
            want.append(" 49 99"));
}

TEST(ChatTemplateMessages, VariablesOverrideTheContext) {
  template_input input;
  input.variables = R"({"add_generation_prompt": 5})";
  EXPECT_EQ(render("{{ add_generation_prompt }}", input), "5");
}

TEST(ChatTemplateMessages, MalformedInputIsRefused) {
  const chat_template t{"{{ messages|length }}", "t"};
  for (const char* messages :
       {"", "[", "{}", "null", "[1]", "[null]", "[{]", "[{\"a\":}]",
        "[{\"a\":\"\xff\"}]", "[] x", "[{\"a\":18446744073709551615}]",
        "[{\"a\":1e999}]", "[{\"a\":123456789012345678901234567890}]"}) {
    template_input input;
    input.messages = messages;
    EXPECT_THROW(t.render(input), std::invalid_argument) << messages;
  }
  for (const char* variables : {"[]", "1", "{", "{\"a\"}"}) {
    template_input input;
    input.variables = variables;
    EXPECT_THROW(t.render(input), std::invalid_argument) << variables;
  }
  for (const char* tools : {"{}", "1", "[", "\"x\""}) {
    template_input input;
    input.tools = tools;
    EXPECT_THROW(t.render(input), std::invalid_argument) << tools;
  }
}

TEST(ChatTemplateMessages, InvalidArgumentNamesTheField) {
  template_input input;
  input.messages = "[{\"role\":\"user\"}, 3]";
  try {
    render("", input);
    FAIL() << "accepted";
  } catch (const std::invalid_argument& e) {
    EXPECT_STREQ(e.what(), "messages[1]: must be an object");
  }
}

}  // namespace
}  // namespace vouch::test
