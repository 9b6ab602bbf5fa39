#include "engine/chat_template/parser_state.hpp"

// What stands behind an operand: attributes, subscripts, calls, filters, tests.
namespace vouch::engine::jinja {

expression_ptr expression_parser::parse_postfix(expression_ptr subject) {
  while (true) {
    if (is_op(".")) {
      next();
      auto e = make(expression_kind::attribute);
      if (current().type == token_type::integer) {
        e->kind = expression_kind::item;
        e->operands.push_back(std::move(subject));
        e->operands.push_back(parse_primary());
      } else {
        e->operands.push_back(std::move(subject));
        e->word = expect_name();
      }
      subject = finish(std::move(e));
    } else if (is_op("[")) {
      subject = parse_subscript(std::move(subject));
    } else if (is_op("(")) {
      subject = parse_call(std::move(subject));
    } else {
      return subject;
    }
  }
}

expression_ptr expression_parser::parse_call(expression_ptr subject) {
  auto e = make(expression_kind::call);
  e->operands.push_back(std::move(subject));
  e->arguments = parse_call_arguments();
  return finish(std::move(e));
}

expression_ptr expression_parser::parse_subscript(expression_ptr subject) {
  const nesting guard{*this};
  auto e = make(expression_kind::item);
  expect_op("[");
  e->operands.push_back(std::move(subject));
  expression_ptr first = is_op(":") ? nullptr : parse_expression();
  if (is_op(":")) {
    e->kind = expression_kind::slice;
    e->operands.push_back(std::move(first));
    for (int part = 0; part < 2; ++part) {
      const bool given = skip_op(":") && !is_op(":") && !is_op("]");
      e->operands.push_back(given ? parse_expression() : nullptr);
    }
  } else if (is_op(",")) {
    auto tuple = make(expression_kind::tuple);
    tuple->operands.push_back(std::move(first));
    while (skip_op(",")) tuple->operands.push_back(parse_expression());
    e->operands.push_back(finish(std::move(tuple)));
  } else {
    e->operands.push_back(std::move(first));
  }
  expect_op("]");
  return finish(std::move(e));
}

expression_ptr expression_parser::parse_filter(expression_ptr subject) {
  auto e = make(expression_kind::filter);
  e->word = expect_name();
  while (skip_op(".")) e->word += '.' + expect_name();
  e->operands.push_back(std::move(subject));
  if (is_op("(")) e->arguments = parse_call_arguments();
  return finish(std::move(e));
}

expression_ptr expression_parser::parse_filter_chain() {
  expression_ptr chain = parse_filter(nullptr);
  while (skip_op("|")) chain = parse_filter(std::move(chain));
  return chain;
}

expression_ptr expression_parser::parse_filters(expression_ptr subject) {
  while (true) {
    if (skip_op("|")) {
      subject = parse_filter(std::move(subject));
    } else if (is_name("is")) {
      subject = parse_test(std::move(subject));
    } else if (is_op("(")) {
      subject = parse_call(std::move(subject));
    } else {
      return subject;
    }
  }
}

expression_ptr expression_parser::parse_test(expression_ptr subject) {
  auto e = make(expression_kind::test);
  next();
  const bool negated = skip_name("not");
  e->word = expect_name();
  while (skip_op(".")) e->word += '.' + expect_name();
  e->operands.push_back(std::move(subject));
  const token_type type = current().type;
  if (is_op("(")) {
    e->arguments = parse_call_arguments();
  } else if ((type == token_type::name || type == token_type::string ||
              type == token_type::integer || type == token_type::floating ||
              is_op("[") || is_op("{")) &&
             !is_name("else") && !is_name("or") && !is_name("and")) {
    if (is_name("is")) fail("You cannot chain multiple tests with is");
    e->arguments.positional.push_back(parse_postfix(parse_primary()));
  }
  expression_ptr result = finish(std::move(e));
  if (!negated) return result;
  auto inverse = make(expression_kind::unary_not);
  inverse->operands.push_back(std::move(result));
  return finish(std::move(inverse));
}

call_arguments expression_parser::parse_call_arguments() {
  const nesting guard{*this};
  call_arguments result;
  expect_op("(");
  bool first = true;
  while (!is_op(")")) {
    if (!first) expect_op(",");
    first = false;
    if (is_op(")")) break;
    if (skip_op("*")) {
      if (result.star || result.double_star) fail("invalid syntax in a call");
      result.star = parse_expression();
    } else if (skip_op("**")) {
      if (result.double_star) fail("invalid syntax in a call");
      result.double_star = parse_expression();
    } else if (current().type == token_type::name &&
               ahead().type == token_type::op && ahead().text == "=") {
      if (result.double_star) fail("invalid syntax in a call");
      std::string name = next().text;
      next();
      result.keywords.emplace_back(std::move(name), parse_expression());
    } else {
      if (result.star || result.double_star || !result.keywords.empty()) {
        fail("a positional argument follows a keyword argument");
      }
      result.positional.push_back(parse_expression());
    }
  }
  expect_op(")");
  return result;
}

}  // namespace vouch::engine::jinja
