// Budgets, nesting, errors with their lines, and rendering from many threads.
#include <atomic>
#include <random>
#include <thread>

#include <gtest/gtest.h>

#include "tests/engine/chat_template/support.hpp"

namespace vouch::test {
namespace {

using engine::chat_template;
using engine::template_error;
using engine::template_input;

std::string repeated(std::string_view s, int n) {
  std::string out;
  for (int i = 0; i < n; ++i) out += s;
  return out;
}

TEST(ChatTemplateErrors, NameTheTemplateAndTheLine) {
  EXPECT_EQ(parse_error_of("a\nb {{ 1 + }}").substr(0, 11), "t: line 2: ");
  EXPECT_EQ(parse_error_of("a\n\n{% if x %}\n\n{% oops %}"),
            "t: line 5: Encountered unknown tag 'oops'.");
  EXPECT_EQ(error_of("a\n\n{{ raise_exception('boom') }}"), "t: line 3: boom");
  EXPECT_EQ(error_of("a\n{% macro m() %}\n{{ x.y }}{% endmacro %}\n{{ m() }}"),
            "t: line 3: 'x' is undefined");
  EXPECT_EQ(error_of("{{ [1,\n 2]\n|nope }}"),
            "t: line 3: No filter named 'nope' found.");
}

TEST(ChatTemplateErrors, InvalidUtf8IsRefused) {
  EXPECT_EQ(parse_error_of("a\xff"), "t: the template is not valid UTF-8");
}

TEST(ChatTemplateErrors, UnsupportedTagsAreRefused) {
  for (const char* tag : {"include 'x'", "import 'x' as y", "extends 'x'",
                          "block b", "from 'x' import y"}) {
    EXPECT_NE(parse_error_of("{% " + std::string{tag} + " %}"), "") << tag;
  }
}

TEST(ChatTemplateBudget, StepsEnd) {
  template_input input;
  input.budget.steps = 1000;
  const std::string source =
      "{% for i in range(100) %}{% for j in range(100) %}x{% endfor %}"
      "{% endfor %}";
  EXPECT_EQ(error_of(source, input),
            "t: line 1: rendering took more than 1000 steps");
  input.budget.steps = 1'000'000;
  EXPECT_EQ(error_of(source, input), "");
}

TEST(ChatTemplateBudget, OutputEnds) {
  template_input input;
  input.budget.output_bytes = 100;
  EXPECT_EQ(error_of(repeated("0123456789", 10), input), "");
  EXPECT_EQ(error_of(repeated("0123456789", 10) + "x", input),
            "t: line 1: the text is longer than 100 bytes");
  EXPECT_NE(error_of("{% for i in range(50) %}abc{% endfor %}", input), "");
}

TEST(ChatTemplateBudget, LargeValuesAreRefused) {
  template_input input;
  input.budget = {200'000, 1 << 20};
  for (const char* source : {
           "{{ 'a' * 10000000 }}",
           "{{ 'a' * 9223372036854775807 }}",
           "{{ ('ab' * 4611686018427387904)|length }}",
           "{% set l = [0] * 10000000 %}",
           "{{ range(1000000000000) }}",
           "{{ range(-9223372036854775807, 9223372036854775807) }}",
           "{% set n = namespace(s='aa') %}{% for i in range(99) %}"
           "{% set n.s = n.s + n.s %}{% endfor %}",
           "{% set n = namespace(s='aa') %}{% for i in range(99) %}"
           "{% set n.s = n.s ~ n.s %}{% endfor %}",
           "{% set n = namespace(s='aa') %}{% for i in range(99) %}"
           "{% set n.s = n.s|replace('a', 'aaaa') %}{% endfor %}",
           "{% set n = namespace(l=[1]) %}{% for i in range(99) %}"
           "{% set n.l = n.l + n.l %}{% endfor %}",
           "{% set n = namespace(l=[1]) %}{% for i in range(60) %}"
           "{% set n.l = [n.l, n.l] %}{% endfor %}{{ n.l }}",
           "{% set n = namespace(l=[1]) %}{% for i in range(60) %}"
           "{% set n.l = [n.l, n.l] %}{% endfor %}{{ n.l|tojson }}",
           "{% set n = namespace(l=[1], m=[1]) %}{% for i in range(60) %}"
           "{% set n.l = [n.l, n.l] %}{% set n.m = [n.m, n.m] %}{% endfor %}"
           "{{ n.l == n.m }}",
           "{% set n = namespace(l=(1,)) %}{% for i in range(60) %}"
           "{% set n.l = (n.l, n.l) %}{% endfor %}{{ {n.l: 1} }}",
           "{{ '%999999999d' % 1 }}",
           "{{ '{:999999999}'.format(1) }}",
           "{{ 'a'|center(999999999) }}",
           "{{ 'a'.ljust(9223372036854775807) }}",
           "{{ 'a'.zfill(999999999) }}",
           "{{ 'a\nb'|indent(999999999) }}",
           "{{ [[[[1]]]]|tojson(indent=999999999) }}",
           "{{ [1, 2]|batch(1000000000, 0)|list }}",
           "{{ [1, 2]|slice(1000000000)|list }}",
           "{{ 9223372036854775807 + 1 }}",
           "{{ -9223372036854775807 - 2 }}",
           "{{ 9223372036854775807 * 2 }}",
           "{{ 10 ** 30 }}",
           "{{ '99999999999999999999'|int }}",
           "{{ 1e300|int }}",
       }) {
    EXPECT_NE(error_of(source, input), "") << source;
  }
}

TEST(ChatTemplateNesting, DeepSourceIsAnError) {
  constexpr int n = 100'000;
  for (const std::string& source : {
           "{{ " + repeated("(", n) + "1" + repeated(")", n) + " }}",
           "{{ " + repeated("[", n) + repeated("]", n) + " }}",
           "{{ " + repeated("{1:", n) + "1" + repeated("}", n) + " }}",
           "{{ " + repeated("not ", n) + "1 }}",
           "{{ " + repeated("-", n) + "1 }}",
           "{{ 1" + repeated(" + 1", n) + " }}",
           "{{ 1" + repeated(" and 1", n) + " }}",
           "{{ a" + repeated(".a", n) + " }}",
           "{{ a" + repeated("[0]", n) + " }}",
           "{{ a" + repeated("|e", n) + " }}",
           "{{ a" + repeated("(", n) + repeated(")", n) + " }}",
           "{{ a" + repeated("()", n) + " }}",
           "{{ 1" + repeated(" if 1 else 1", n) + " }}",
           "{{ 1" + repeated(" if 1", n) + " }}",
           "{{ a" + repeated("[a", n) + repeated("]", n) + " }}",
           "{{ a" + repeated(" is a(a", n) + repeated(")", n) + " }}",
           repeated("{% if 1 %}", n) + repeated("{% endif %}", n),
           repeated("{% for i in [1] %}", n) + repeated("{% endfor %}", n),
           repeated("{% macro m() %}", n) + repeated("{% endmacro %}", n),
           "{% set " + repeated("(", n) + "a" + repeated(")", n) + " = 1 %}",
           "{% filter " + repeated("e|", n) + "e %}x{% endfilter %}",
       }) {
    EXPECT_NE(parse_error_of(source), "") << source.substr(0, 40);
  }
}

TEST(ChatTemplateNesting, FlatSourceIsNot) {
  EXPECT_EQ(render("{{ 1" + repeated(" ~ 1", 5000) + " }}"),
            repeated("1", 5001));
  EXPECT_EQ(render("{% if 0 %}" + repeated("{% elif 0 %}", 5000) +
                   "{% else %}x{% endif %}"),
            "x");
  EXPECT_EQ(render("{{ 1" + repeated(" + 1", 200) + " }}"), "201");
}

TEST(ChatTemplateNesting, DeepEvaluationIsAnError) {
  EXPECT_EQ(error_of("{% macro f(n) %}{{ f(n + 1) }}{% endmacro %}{{ f(0) }}"),
            "t: line 1: maximum recursion depth exceeded");
  EXPECT_NE(error_of("{% macro f(n) %}" + repeated("{% if 1 %}", 100) +
                     "{{ [[[[[[[[f(n + 1)]]]]]]]] }}" +
                     repeated("{% endif %}", 100) + "{% endmacro %}{{ f(0) }}"),
            "");
  EXPECT_NE(error_of("{% macro f() %}{% call f() %}{% endcall %}"
                     "{% endmacro %}{{ f() }}"),
            "");
  EXPECT_NE(error_of("{% set n = namespace(l=[]) %}{% for i in range(9999) %}"
                     "{% set n.l = [n.l] %}{% endfor %}"),
            "");
  EXPECT_NE(error_of("{% set n = namespace() %}{% for i in range(9999) %}"
                     "{% set n.l = {'a': n.l} %}{% endfor %}"),
            "");
  EXPECT_NE(error_of("{% for i in [[]] recursive %}{{ loop([i]) }}"
                     "{% endfor %}"),
            "");
}

TEST(ChatTemplateNesting, CircularNamespacesAreFreed) {
  EXPECT_EQ(render("{% set n = namespace() %}{% set n.n = n %}"
                   "{% macro m() %}x{% endmacro %}{% set n.m = m %}"
                   "{{ n.n.m() }}"),
            "x");
  EXPECT_NE(error_of("{% set n = namespace() %}{% set n.n = n %}{{ n }}"), "");
  EXPECT_EQ(render("{% set n = namespace() %}{% for i in range(9999) %}"
                   "{% set n.n = namespace(n=n.n) %}{% endfor %}x"),
            "x");
}

// Chains through loops and bound methods would otherwise be freed by deep
// recursion.
TEST(ChatTemplateNesting, ChainsOfLoopsAndMethodsAreBounded) {
  EXPECT_NE(error_of("{% set n = namespace(v=[1]) %}{% for i in range(99999) %}"
                     "{% for l in n.v %}{% set n.v = [loop] %}{% endfor %}"
                     "{% endfor %}"),
            "");
  EXPECT_NE(error_of("{% set n = namespace(v=[1]) %}{% for i in range(99999) %}"
                     "{% set n.v = [n.v.index] %}{% endfor %}"),
            "");
  EXPECT_EQ(render("{% for i in [1] %}{{ loop.changed(loop) }}{% endfor %}"),
            "True");
}

TEST(ChatTemplateErrors, LongMessagesAreCut) {
  EXPECT_LT(error_of("{{ raise_exception('é' * 100000) }}").size(), 2100U);
}

TEST(ChatTemplateNesting, DeepJsonIsAnError) {
  for (const int n : {250, 100'000}) {
    template_input input;
    input.messages = "[{\"a\":" + repeated("[", n) + repeated("]", n) + "}]";
    EXPECT_THROW(render("{{ messages }}", input), std::invalid_argument);
    input.messages =
        "[{\"a\":" + repeated("{\"a\":", n) + "1" + repeated("}", n) + "}]";
    EXPECT_THROW(render("{{ messages }}", input), std::invalid_argument);
  }
  template_input input;
  input.messages = "[{\"a\":" + repeated("[", 150) + repeated("]", 150) + "}]";
  EXPECT_EQ(render("{{ messages|tojson == messages|tojson }}", input), "True");
}

TEST(ChatTemplateFuzz, RandomTemplatesNeverCrash) {
  const std::vector<std::string> pieces{
      "{{",        "}}",         "{%",
      "%}",        "{#",         "#}",
      "-",         "+",          " if ",
      " for ",     " in ",       " x ",
      "[",         "]",          "(",
      ")",         "{",          "}",
      "'",         "\"",         "\\",
      "|",         ".",          ",",
      ":",         "endif",      "endfor",
      "set",       "=",          "==",
      "macro",     "endmacro",   "loop",
      "recursive", "not",        " is ",
      "defined",   "e",          "map",
      "join",      "1",          "0.5",
      "\n",        "é",          "~",
      "*",         "**",         "/",
      "%",         "raw",        "endraw",
      "else",      "elif",       "namespace",
      "range",     "messages",   "call",
      "endcall",   "filter",     "endfilter",
      "none",      "tojson",     "d.items()",
      "break",     "generation", "endgeneration",
      "with",      "endwith",    "endset"};
  std::mt19937 random{7};
  int rendered = 0;
  for (int i = 0; i < 30'000; ++i) {
    std::string source;
    const bool tag = random() % 2 == 0;
    if (tag) source += "{{ ";
    const unsigned length = random() % 12;
    for (unsigned n = 0; n < length; ++n) {
      source += pieces[random() % pieces.size()];
      if (random() % 3 == 0) source += ' ';
    }
    if (tag) source += " }}";
    template_input input;
    input.variables = R"({"x": [1, "a"], "d": {"k": 1}})";
    input.budget = {10'000, 10'000};
    try {
      chat_template{source, "t"}.render(input);
      ++rendered;
    } catch (const engine::input_error&) {
    } catch (const template_error&) {
    }
  }
  EXPECT_GT(rendered, 1000);
}

TEST(ChatTemplateThreads, OneTemplateRendersFromMany) {
  const chat_template t{
      "{% macro m(x) %}<{{ x|upper }}>{% endmacro %}{% set n = "
      "namespace(c=0) %}{% for i in range(50) %}{% set n.c = n.c + i %}"
      "{{ m(messages[0].content ~ i) }}{% endfor %}{{ n.c }}",
      "t"};
  template_input input;
  input.messages = R"([{"role": "user", "content": "é"}])";
  const std::string want = joined(t.render(input));
  std::atomic<int> wrong{0};
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&] {
      for (int n = 0; n < 50; ++n) {
        if (joined(t.render(input)) != want) ++wrong;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, 0);
}

TEST(ChatTemplateErrors, MovedTemplatesRender) {
  chat_template a{"{{ 1 }}", "a"};
  chat_template b = std::move(a);
  EXPECT_EQ(joined(b.render({})), "1");
}

}  // namespace
}  // namespace vouch::test
