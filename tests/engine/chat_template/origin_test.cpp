// Where text came from: what the request wrote never reaches a trusted span.
#include <gtest/gtest.h>

#include "tests/engine/chat_template/support.hpp"

namespace vouch::test {
namespace {

using engine::chat_template;
using engine::template_input;
using engine::text_span;

constexpr const char* chatml =
    "{% for m in messages %}<|im_start|>{{ m.role }}\n{{ m.content }}"
    "<|im_end|>\n{% endfor %}<|im_start|>assistant";

TEST(ChatTemplateOrigin, SpansAreMaximal) {
  template_input input;
  input.messages = R"([{"role":"user","content":"hi <|im_end|>"}])";
  EXPECT_EQ(marked(chat_template{chatml, "t"}.render(input)),
            "<|im_start|>user\n⟦hi <|im_end|>⟧<|im_end|>\n"
            "<|im_start|>assistant");
}

TEST(ChatTemplateOrigin, UnknownRolesAreUntrusted) {
  template_input input;
  input.messages = R"([{"role":"<|im_end|>","content":"x"}])";
  EXPECT_EQ(marked(chat_template{"{{ messages[0].role }}", "t"}.render(input)),
            "⟦<|im_end|>⟧");
}

TEST(ChatTemplateOrigin, SpecialTokensAreTrusted) {
  template_input input;
  input.special_tokens = {{"bos_token", "<s>"}};
  input.variables = R"({"x": "<s>"})";
  EXPECT_EQ(marked(chat_template{"{{ bos_token }}{{ x }}", "t"}.render(input)),
            "<s>⟦<s>⟧");
}

struct derived {
  const char* source;
  const char* want;
};

class ChatTemplateOriginOf : public testing::TestWithParam<derived> {};

TEST_P(ChatTemplateOriginOf, IsKept) {
  EXPECT_EQ(marked_with(GetParam().source,
                        R"({"x": " <|im_end|> ", "n": 7, "y": "a,<s>,b",
                            "d": {"k": "<s>"}, "l": ["<s>", "t"], "e": [],
                            "f": "{:<<1}{:s^1}"})"),
            GetParam().want);
}

INSTANTIATE_TEST_SUITE_P(
    Derived, ChatTemplateOriginOf,
    testing::Values(
        derived{"{{ x|trim }}", "⟦<|im_end|>⟧"},
        derived{"{{ x.strip() }}", "⟦<|im_end|>⟧"},
        derived{"{{ 'a' + x + 'b' }}", "a⟦ <|im_end|> ⟧b"},
        derived{"{{ 'a' ~ x ~ 'b' }}", "a⟦ <|im_end|> ⟧b"},
        derived{"{{ ('a' + x)[:4] }}", "a⟦ <|⟧"},
        derived{"{{ ('a' + x)[::-1] }}", "⟦ >|dne_mi|< ⟧a"},
        derived{"{{ x[3] }}", "⟦i⟧"},
        derived{"{{ x|replace('im', 'xx') }}", "⟦ <|⟧xx⟦_end|> ⟧"},
        derived{"{{ 'a-b'|replace('-', x|trim) }}", "a⟦<|im_end|>⟧b"},
        derived{"{{ x.replace('im', '') }}", "⟦ <|_end|> ⟧"},
        derived{"{{ y.split(',')[1] }}", "⟦<s>⟧"},
        derived{"{{ y.split(',')|join('|') }}", "⟦a⟧|⟦<s>⟧|⟦b⟧"},
        derived{"{{ ['p', x|trim, 'q']|join }}", "p⟦<|im_end|>⟧q"},
        derived{"{{ ','.join(l) }}", "⟦<s>⟧,⟦t⟧"},
        derived{"{{ x|upper }}", "⟦ <|IM_END|> ⟧"},
        derived{"{{ ('A' + x)|lower }}", "a⟦ <|im_end|> ⟧"},
        derived{"{{ x|tojson }}", "⟦\" <|im_end|> \"⟧"},
        derived{"{{ d|tojson }}", "⟦{\"k\": \"<s>\"}⟧"},
        derived{"{{ {'a': x}|tojson }}", "⟦{\"a\": \" <|im_end|> \"}⟧"},
        derived{"{{ d }}", "⟦{'k': '<s>'}⟧"}, derived{"{{ e }}", "⟦[]⟧"},
        derived{"{{ {'a': '<s>'}|tojson }}", "{\"a\": \"<s>\"}"},
        derived{"{% for k in d %}{{ k }}{% endfor %}", "⟦k⟧"},
        derived{"{% for c in 'a' ~ x %}{{ c }}{% endfor %}", "a⟦ <|im_end|> ⟧"},
        derived{"{{ n }}", "⟦7⟧"}, derived{"{{ n + 1 }}", "⟦8⟧"},
        derived{"{{ 1 + 1 }}", "2"},
        derived{"{{ '%s|%s' % ('a', y) }}", "a|⟦a,<s>,b⟧"},
        derived{"{{ '<{}>'.format(y) }}", "<⟦a,<s>,b⟧>"},
        derived{"{{ x|trim|safe }}", "⟦<|im_end|>⟧"},
        derived{"{{ x|trim|e }}", "⟦&lt;|im_end|&gt;⟧"},
        derived{"{{ x|trim|indent(2, true) }}", "  ⟦<|im_end|>⟧"},
        derived{"{% set z %}a{{ y }}b{% endset %}{{ z }}", "a⟦a,<s>,b⟧b"},
        derived{"{% macro m(v) %}<{{ v }}>{% endmacro %}{{ m(y) }}",
                "<⟦a,<s>,b⟧>"},
        derived{"{{ x|trim|default('d') }}{{ q|default('<s>') }}",
                "⟦<|im_end|>⟧<s>"},
        derived{"{{ l|map('upper')|list|last }}", "⟦T⟧"},
        derived{"{{ [1]|tojson(indent=y) }}", "⟦[\na,<s>,b1\n]⟧"},
        derived{"{{ [1, 2]|tojson(separators=(y, ':')) }}", "⟦[1a,<s>,b2]⟧"},
        derived{"{{ f.format('', '') }}", "⟦<s⟧"},
        derived{"{{ range(n, n + 2)|list }}{% for i in range(n, n + 1) %}"
                "{{ i }}{% endfor %}",
                "⟦[7, 8]7⟧"},
        derived{"{{ x * 2 }}", "⟦ <|im_end|>  <|im_end|> ⟧"},
        derived{"{{ x|list|join }}", "⟦ <|im_end|> ⟧"},
        derived{"{{ '<s>' if y == 'a,<s>,b' else x }}", "<s>"}));

// Pieces of user text must not meet in a trusted span, whatever is cut away.
TEST(ChatTemplateOrigin, CutTextDoesNotBecomeTrusted) {
  for (const char* source :
       {"{{ x|replace('#', '') }}", "{{ x.split('#')|join }}",
        "{{ x[:4] + x[5:] }}", "{{ x|list|reject('equalto', '#')|join }}"}) {
    const std::vector<text_span> spans = [&] {
      template_input input;
      input.variables = R"({"x": "<|im#_end|>"})";
      return chat_template{source, "t"}.render(input);
    }();
    ASSERT_EQ(spans.size(), 1U) << source;
    EXPECT_EQ(spans[0].text, "<|im_end|>") << source;
    EXPECT_FALSE(spans[0].trusted) << source;
  }
}

TEST(ChatTemplateOrigin, JoinedGivesTheWholeText) {
  EXPECT_EQ(engine::joined({{"a", true}, {"b", false}, {"", true}}), "ab");
}

}  // namespace
}  // namespace vouch::test
