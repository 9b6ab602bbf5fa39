#include <algorithm>
#include <charconv>
#include <cstdlib>

#include "engine/chat_template/parser_state.hpp"

namespace vouch::engine::jinja {

void expression_parser::fail(const std::string& message) const {
  throw syntax_error(current().line, message);
}

const token& expression_parser::ahead() const {
  return tokens_[std::min(at_ + 1, tokens_.size() - 1)];
}

token expression_parser::next() {
  token t = tokens_[at_];
  if (at_ + 1 < tokens_.size()) ++at_;
  return t;
}

bool expression_parser::is_op(std::string_view op) const {
  return current().type == token_type::op && current().text == op;
}

bool expression_parser::is_name(std::string_view name) const {
  return current().type == token_type::name && current().text == name;
}

bool expression_parser::skip_op(std::string_view op) {
  if (!is_op(op)) return false;
  next();
  return true;
}

bool expression_parser::skip_name(std::string_view name) {
  if (!is_name(name)) return false;
  next();
  return true;
}

std::string expression_parser::describe_current() const {
  switch (current().type) {
    case token_type::end:
      return "end of template";
    case token_type::data:
      return "template text";
    case token_type::print_begin:
      return "begin of print statement";
    case token_type::print_end:
      return "end of print statement";
    case token_type::block_begin:
      return "begin of statement block";
    case token_type::block_end:
      return "end of statement block";
    default:
      return "'" + current().text + "'";
  }
}

void expression_parser::expect_op(std::string_view op) {
  if (!skip_op(op)) {
    fail("expected '" + std::string{op} + "', got " + describe_current());
  }
}

std::string expression_parser::expect_name() {
  if (current().type != token_type::name) {
    fail("expected a name, got " + describe_current());
  }
  return next().text;
}

std::unique_ptr<expression> expression_parser::make(
    expression_kind kind) const {
  auto e = std::make_unique<expression>();
  e->kind = kind;
  e->line = current().line;
  return e;
}

expression_ptr expression_parser::finish(std::unique_ptr<expression> e) const {
  int deepest = 0;
  const auto see = [&](const expression_ptr& child) {
    if (child) deepest = std::max(deepest, child->depth);
  };
  for (const expression_ptr& child : e->operands) see(child);
  for (const expression_ptr& child : e->arguments.positional) see(child);
  for (const auto& keyword : e->arguments.keywords) see(keyword.second);
  see(e->arguments.star);
  see(e->arguments.double_star);
  e->depth = deepest + 1;
  if (e->depth > 2 * max_syntax_depth) {
    fail("an expression is nested too deeply");
  }
  return e;
}

expression_ptr expression_parser::make_binary(expression_kind kind,
                                              expression_ptr a,
                                              expression_ptr b,
                                              binary_op op) const {
  auto e = make(kind);
  e->line = a->line;
  e->op = op;
  e->operands.push_back(std::move(a));
  e->operands.push_back(std::move(b));
  return finish(std::move(e));
}

expression_ptr expression_parser::make_constant(value v) const {
  auto e = make(expression_kind::constant);
  e->constant = std::move(v);
  return e;
}

bool expression_parser::at_tuple_end() const {
  return current().type == token_type::print_end ||
         current().type == token_type::block_end ||
         current().type == token_type::end || is_op(")") ||
         is_name("recursive");
}

expression_ptr expression_parser::parse_tuple(bool with_condition,
                                              bool empty_allowed) {
  auto e = make(expression_kind::tuple);
  bool is_tuple = false;
  while (true) {
    if (!e->operands.empty()) {
      if (!skip_op(",")) break;
      is_tuple = true;
    }
    if (at_tuple_end()) break;
    e->operands.push_back(parse_expression(with_condition));
  }
  if (is_tuple) return finish(std::move(e));
  if (!e->operands.empty()) return std::move(e->operands[0]);
  if (!empty_allowed) {
    fail("expected an expression, got " + describe_current());
  }
  return finish(std::move(e));
}

expression_ptr expression_parser::parse_expression(bool with_condition) {
  const nesting guard{*this};
  expression_ptr result = parse_or();
  if (!with_condition) return result;
  while (is_name("if")) {
    auto e = make(expression_kind::conditional);
    next();
    e->operands.push_back(std::move(result));
    e->operands.push_back(parse_or());
    e->operands.push_back(skip_name("else") ? parse_expression() : nullptr);
    result = finish(std::move(e));
  }
  return result;
}

expression_ptr expression_parser::parse_or() {
  expression_ptr left = parse_and();
  while (skip_name("or")) {
    left =
        make_binary(expression_kind::logical_or, std::move(left), parse_and());
  }
  return left;
}

expression_ptr expression_parser::parse_and() {
  expression_ptr left = parse_not();
  while (skip_name("and")) {
    left =
        make_binary(expression_kind::logical_and, std::move(left), parse_not());
  }
  return left;
}

expression_ptr expression_parser::parse_not() {
  if (!is_name("not")) return parse_comparison();
  const nesting guard{*this};
  auto e = make(expression_kind::unary_not);
  next();
  e->operands.push_back(parse_not());
  return finish(std::move(e));
}

expression_ptr expression_parser::parse_comparison() {
  static constexpr std::pair<std::string_view, compare_op> operators[] = {
      {"==", compare_op::eq}, {"!=", compare_op::ne}, {"<", compare_op::lt},
      {"<=", compare_op::le}, {">", compare_op::gt},  {">=", compare_op::ge}};
  auto e = make(expression_kind::comparison);
  e->operands.push_back(parse_sum());
  while (true) {
    const auto* found =
        std::find_if(std::begin(operators), std::end(operators),
                     [&](const auto& o) { return is_op(o.first); });
    if (found != std::end(operators)) {
      next();
      e->comparisons.push_back(found->second);
    } else if (skip_name("in")) {
      e->comparisons.push_back(compare_op::in);
    } else if (is_name("not") && ahead().type == token_type::name &&
               ahead().text == "in") {
      next();
      next();
      e->comparisons.push_back(compare_op::not_in);
    } else {
      break;
    }
    e->operands.push_back(parse_sum());
  }
  if (e->comparisons.empty()) return std::move(e->operands[0]);
  return finish(std::move(e));
}

expression_ptr expression_parser::parse_sum() {
  expression_ptr left = parse_concatenation();
  while (is_op("+") || is_op("-")) {
    const binary_op op = is_op("+") ? binary_op::add : binary_op::sub;
    next();
    left = make_binary(expression_kind::binary, std::move(left),
                       parse_concatenation(), op);
  }
  return left;
}

expression_ptr expression_parser::parse_concatenation() {
  auto e = make(expression_kind::concatenate);
  e->operands.push_back(parse_product());
  while (skip_op("~")) e->operands.push_back(parse_product());
  if (e->operands.size() == 1) return std::move(e->operands[0]);
  return finish(std::move(e));
}

expression_ptr expression_parser::parse_product() {
  static constexpr std::pair<std::string_view, binary_op> operators[] = {
      {"*", binary_op::mul},
      {"/", binary_op::div},
      {"//", binary_op::floor_div},
      {"%", binary_op::mod}};
  expression_ptr left = parse_power();
  while (true) {
    const auto* found =
        std::find_if(std::begin(operators), std::end(operators),
                     [&](const auto& o) { return is_op(o.first); });
    if (found == std::end(operators)) return left;
    next();
    left = make_binary(expression_kind::binary, std::move(left), parse_power(),
                       found->second);
  }
}

expression_ptr expression_parser::parse_power() {
  expression_ptr left = parse_unary(true);
  while (skip_op("**")) {
    left = make_binary(expression_kind::binary, std::move(left),
                       parse_unary(true), binary_op::pow);
  }
  return left;
}

expression_ptr expression_parser::parse_unary(bool with_filter) {
  expression_ptr result;
  if (is_op("-") || is_op("+")) {
    const nesting guard{*this};
    auto e = make(is_op("-") ? expression_kind::negate : expression_kind::plus);
    next();
    e->operands.push_back(parse_unary(false));
    result = finish(std::move(e));
  } else {
    result = parse_primary();
  }
  result = parse_postfix(std::move(result));
  if (with_filter) result = parse_filters(std::move(result));
  return result;
}

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
      auto e = make(expression_kind::call);
      e->operands.push_back(std::move(subject));
      e->arguments = parse_call_arguments();
      subject = finish(std::move(e));
    } else {
      return subject;
    }
  }
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
      auto e = make(expression_kind::call);
      e->operands.push_back(std::move(subject));
      e->arguments = parse_call_arguments();
      subject = finish(std::move(e));
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
