#include <algorithm>

#include "engine/chat_template/parser_state.hpp"

// The parser's hold on the token list, and how it makes nodes.
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

}  // namespace vouch::engine::jinja
