#include <charconv>
#include <cstdlib>

#include "engine/chat_template/parser_state.hpp"

// Literals, names, parentheses, lists and dicts.
namespace vouch::engine::jinja {

expression_ptr expression_parser::parse_primary() {
  const token& t = current();
  switch (t.type) {
    case token_type::name: {
      const std::string word = next().text;
      if (word == "true" || word == "True") return make_constant(value{true});
      if (word == "false" || word == "False") {
        return make_constant(value{false});
      }
      if (word == "none" || word == "None") return make_constant(value::none());
      auto e = make(expression_kind::name);
      names_read_.insert(word);
      e->word = word;
      return e;
    }
    case token_type::string: {
      std::string all = next().text;
      while (current().type == token_type::string) all += next().text;
      return make_constant(make_string(all, true));
    }
    case token_type::integer: {
      const std::string literal = next().text;
      int base = 10;
      std::string_view digits = literal;
      if (literal.size() > 2 && literal[0] == '0' && literal[1] > '9') {
        base = literal[1] == 'x' || literal[1] == 'X'   ? 16
               : literal[1] == 'o' || literal[1] == 'O' ? 8
                                                        : 2;
        digits.remove_prefix(2);
      }
      std::int64_t i = 0;
      const auto r = std::from_chars(digits.data(),
                                     digits.data() + digits.size(), i, base);
      if (r.ec != std::errc{} || r.ptr != digits.data() + digits.size()) {
        fail("the integer " + literal + " is not valid or too large");
      }
      return make_constant(value{i});
    }
    case token_type::floating: {
      const std::string literal = next().text;
      double d = 0;
      const auto r =
          std::from_chars(literal.data(), literal.data() + literal.size(), d);
      if (r.ec == std::errc::result_out_of_range) {
        d = std::strtod(literal.c_str(), nullptr);
      }
      return make_constant(value{d});
    }
    case token_type::op:
      if (skip_op("(")) {
        const nesting guard{*this};
        expression_ptr inner = parse_tuple(true, true);
        expect_op(")");
        return inner;
      }
      if (is_op("[")) return parse_list();
      if (is_op("{")) return parse_dict();
      break;
    default:
      break;
  }
  fail("unexpected " + describe_current());
}

expression_ptr expression_parser::parse_list() {
  const nesting guard{*this};
  auto e = make(expression_kind::list);
  expect_op("[");
  while (!is_op("]")) {
    if (!e->operands.empty()) expect_op(",");
    if (is_op("]")) break;
    e->operands.push_back(parse_expression());
  }
  expect_op("]");
  return finish(std::move(e));
}

expression_ptr expression_parser::parse_dict() {
  const nesting guard{*this};
  auto e = make(expression_kind::dict);
  expect_op("{");
  while (!is_op("}")) {
    if (!e->operands.empty()) expect_op(",");
    if (is_op("}")) break;
    e->operands.push_back(parse_expression());
    expect_op(":");
    e->operands.push_back(parse_expression());
  }
  expect_op("}");
  return finish(std::move(e));
}

}  // namespace vouch::engine::jinja
