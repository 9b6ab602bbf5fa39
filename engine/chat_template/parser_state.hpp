#pragma once

#include <set>

#include "engine/chat_template/lexer.hpp"
#include "engine/chat_template/parser.hpp"

namespace vouch::engine::jinja {

/// Expressions and statements may nest this deep.
constexpr int max_syntax_depth = 150;

/// A recursive-descent parser of expressions over a token list, loosest
/// operator first: if, or, and, not, comparisons, + -, ~, * / // %, **, unary.
class expression_parser {
 public:
  explicit expression_parser(std::vector<token> tokens)
      : tokens_(std::move(tokens)) {}

 protected:
  class nesting {
   public:
    explicit nesting(expression_parser& p) : p_(p) {
      if (++p_.depth_ > max_syntax_depth) {
        p_.fail("the template is nested too deeply");
      }
    }
    ~nesting() { --p_.depth_; }
    nesting(const nesting&) = delete;
    nesting& operator=(const nesting&) = delete;

   private:
    expression_parser& p_;
  };

  [[noreturn]] void fail(const std::string& message) const;
  const token& current() const { return tokens_[at_]; }
  const token& ahead() const;
  token next();
  bool is_op(std::string_view op) const;
  bool is_name(std::string_view name) const;
  bool skip_op(std::string_view op);
  bool skip_name(std::string_view name);
  void expect_op(std::string_view op);
  std::string expect_name();
  std::string describe_current() const;

  /// A comma makes it a tuple. `empty_allowed`: inside of parentheses.
  expression_ptr parse_tuple(bool with_condition, bool empty_allowed = false);
  expression_ptr parse_expression(bool with_condition = true);
  expression_ptr parse_unary(bool with_filter);
  /// name(arguments)|name..., its innermost subject left null.
  expression_ptr parse_filter_chain();
  call_arguments parse_call_arguments();

  /// The names read since a macro began, to see whether it uses `caller`.
  std::set<std::string> names_read_;

 private:
  expression_ptr parse_or();
  expression_ptr parse_and();
  expression_ptr parse_not();
  expression_ptr parse_comparison();
  expression_ptr parse_sum();
  expression_ptr parse_concatenation();
  expression_ptr parse_product();
  expression_ptr parse_power();
  expression_ptr parse_primary();
  expression_ptr parse_list();
  expression_ptr parse_dict();
  expression_ptr parse_postfix(expression_ptr subject);
  expression_ptr parse_subscript(expression_ptr subject);
  expression_ptr parse_call(expression_ptr subject);
  expression_ptr parse_filters(expression_ptr subject);
  expression_ptr parse_filter(expression_ptr subject);
  expression_ptr parse_test(expression_ptr subject);
  bool at_tuple_end() const;

  std::unique_ptr<expression> make(expression_kind kind) const;
  expression_ptr finish(std::unique_ptr<expression> e) const;
  expression_ptr make_binary(expression_kind kind, expression_ptr a,
                             expression_ptr b,
                             binary_op op = binary_op::add) const;
  expression_ptr make_constant(value v) const;

  std::vector<token> tokens_;
  std::size_t at_ = 0;
  int depth_ = 0;
};

}  // namespace vouch::engine::jinja
