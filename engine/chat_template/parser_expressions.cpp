#include <algorithm>

#include "engine/chat_template/parser_state.hpp"

// The levels of operators, loosest first; parser_primary.cpp has what they
// join.
namespace vouch::engine::jinja {

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

}  // namespace vouch::engine::jinja
