#include "engine/chat_template/parser.hpp"

#include <algorithm>

#include "engine/chat_template/parser_state.hpp"

namespace vouch::engine::jinja {
namespace {

class parser : expression_parser {
 public:
  explicit parser(std::vector<token> tokens)
      : expression_parser(std::move(tokens)) {}

  body run() {
    body all = parse_body({});
    if (current().type != token_type::end) {
      fail("unexpected " + describe_current());
    }
    return all;
  }

 private:
  using names = std::initializer_list<std::string_view>;

  statement make(statement_kind kind) const {
    statement s;
    s.kind = kind;
    s.line = current().line;
    return s;
  }

  void expect_block_end() {
    if (current().type != token_type::block_end) {
      fail("expected end of statement block, got " + describe_current());
    }
    next();
  }

  /// Statements up to a tag named in `ends`; its name is the current token
  /// then. With no ends, up to the template's end.
  body parse_body(names ends) {
    const nesting guard{*this};
    body content;
    while (current().type != token_type::end) {
      if (current().type == token_type::data) {
        statement s = make(statement_kind::data);
        s.data = std::make_shared<const text>(text{next().text, true});
        content.push_back(std::move(s));
      } else if (current().type == token_type::print_begin) {
        next();
        statement s = make(statement_kind::print);
        s.expr = parse_tuple(true);
        content.push_back(std::move(s));
        if (current().type != token_type::print_end) {
          fail("expected end of print statement, got " + describe_current());
        }
        next();
      } else {
        next();  // block_begin
        if (current().type != token_type::name) {
          fail("expected a tag name, got " + describe_current());
        }
        if (std::find(ends.begin(), ends.end(), current().text) != ends.end()) {
          return content;
        }
        content.push_back(parse_statement());
        expect_block_end();
      }
    }
    if (ends.size() > 0) {
      fail("unexpected end of template; expected '" +
           std::string{*(ends.end() - 1)} + "'");
    }
    return content;
  }

  /// A body behind the current tag's end, and its own end tag's name.
  body block(names ends) {
    expect_block_end();
    return parse_body(ends);
  }

  statement parse_statement() {
    const std::string word = current().text;
    if (word == "for") return parse_for();
    if (word == "if") return parse_if();
    if (word == "set") return parse_set();
    if (word == "with") return parse_with();
    if (word == "macro") return parse_macro();
    if (word == "call") return parse_call();
    if (word == "filter") return parse_filter();
    if (word == "generation") {
      statement s = make(statement_kind::generation);
      next();
      const int loops = std::exchange(loops_, 0);
      s.content = block({"endgeneration"});
      loops_ = loops;
      next();
      return s;
    }
    if (word == "break" || word == "continue") {
      if (loops_ == 0) fail("'" + word + "' outside of a loop");
      statement s = make(word == "break" ? statement_kind::break_
                                         : statement_kind::continue_);
      next();
      return s;
    }
    if (word == "include" || word == "import" || word == "from" ||
        word == "extends" || word == "block") {
      fail("the tag '" + word + "' is not supported in chat templates");
    }
    fail("Encountered unknown tag '" + word + "'.");
  }

  statement parse_for() {
    statement s = make(statement_kind::for_);
    next();
    s.target = parse_target(false);
    if (binds(s.target, "loop")) {
      fail("can't assign to special loop variable in for-loop target");
    }
    if (!skip_name("in")) fail("expected 'in', got " + describe_current());
    s.expr = parse_tuple(false);
    if (skip_name("if")) s.condition = parse_expression();
    s.recursive = skip_name("recursive");
    ++loops_;
    s.content = block({"endfor", "else"});
    --loops_;
    if (next().text == "else") {
      s.otherwise = block({"endfor"});
      next();
    }
    return s;
  }

  statement parse_if() {
    statement s = make(statement_kind::if_);
    next();
    while (true) {
      expression_ptr condition = parse_tuple(false);
      body content = block({"elif", "else", "endif"});
      s.branches.emplace_back(std::move(condition), std::move(content));
      const bool is_else = is_name("else");
      const bool is_elif = is_name("elif");
      next();
      if (is_elif) continue;
      if (is_else) {
        s.otherwise = block({"endif"});
        next();
      }
      return s;
    }
  }

  assign_target parse_target_part(bool with_namespace) {
    assign_target target;
    if (skip_op("(")) {
      const nesting guard{*this};
      target = parse_target(with_namespace, true);
      expect_op(")");
      return target;
    }
    target.name = expect_name();
    for (const char* reserved :
         {"true", "false", "none", "True", "False", "None"}) {
      if (target.name == reserved) {
        fail("can't assign to '" + target.name + "'");
      }
    }
    if (with_namespace && skip_op(".")) target.attribute = expect_name();
    return target;
  }

  static bool binds(const assign_target& target, std::string_view name) {
    return target.name == name ||
           std::any_of(target.parts.begin(), target.parts.end(),
                       [&](const assign_target& t) { return binds(t, name); });
  }

  /// One target, or several separated by commas.
  assign_target parse_target(bool with_namespace, bool parenthesized = false) {
    assign_target first = parse_target_part(with_namespace);
    if (!is_op(",")) return first;
    assign_target all;
    all.parts.push_back(std::move(first));
    while (skip_op(",")) {
      if (is_name("in") || is_op("=") || (parenthesized && is_op(")"))) break;
      all.parts.push_back(parse_target_part(with_namespace));
    }
    return all;
  }

  statement parse_set() {
    statement s = make(statement_kind::set);
    next();
    s.target = parse_target(true);
    if (skip_op("=")) {
      s.expr = parse_tuple(true);
      return s;
    }
    s.kind = statement_kind::set_block;
    if (skip_op("|")) s.expr = parse_filter_chain();
    s.content = block({"endset"});
    next();
    return s;
  }

  statement parse_with() {
    statement s = make(statement_kind::with);
    next();
    while (current().type != token_type::block_end) {
      if (!s.assignments.empty()) expect_op(",");
      assign_target target = parse_target_part(false);
      expect_op("=");
      s.assignments.emplace_back(std::move(target), parse_expression());
    }
    s.content = block({"endwith"});
    next();
    return s;
  }

  void parse_parameters(macro_definition& m) {
    expect_op("(");
    while (!is_op(")")) {
      if (!m.parameters.empty()) expect_op(",");
      if (is_op(")")) break;
      m.parameters.push_back(expect_name());
      if (skip_op("=")) {
        m.defaults.push_back(parse_expression());
      } else if (!m.defaults.empty()) {
        fail("non-default argument follows default argument");
      }
    }
    expect_op(")");
  }

  /// A macro's body up to `end`; notes which special names it reads.
  void parse_macro_body(macro_definition& m, std::string_view end) {
    std::set<std::string> outer;
    outer.swap(names_read_);
    const int loops = std::exchange(loops_, 0);
    m.content = block({end});
    loops_ = loops;
    next();
    m.uses_caller = names_read_.count("caller") > 0;
    m.uses_varargs = names_read_.count("varargs") > 0;
    m.uses_kwargs = names_read_.count("kwargs") > 0;
    names_read_.merge(outer);
  }

  statement parse_macro() {
    statement s = make(statement_kind::macro);
    next();
    auto m = std::make_unique<macro_definition>();
    m->name = expect_name();
    parse_parameters(*m);
    parse_macro_body(*m, "endmacro");
    s.macro = std::move(m);
    return s;
  }

  statement parse_call() {
    statement s = make(statement_kind::call_block);
    next();
    auto m = std::make_unique<macro_definition>();
    m->name = "caller";
    if (is_op("(")) parse_parameters(*m);
    s.expr = parse_expression();
    if (s.expr->kind != expression_kind::call) fail("expected call");
    parse_macro_body(*m, "endcall");
    s.macro = std::move(m);
    return s;
  }

  statement parse_filter() {
    statement s = make(statement_kind::filter_block);
    next();
    s.expr = parse_filter_chain();
    s.content = block({"endfilter"});
    next();
    return s;
  }

  int loops_ = 0;
};

}  // namespace

body parse(std::string_view source) { return parser{tokenize(source)}.run(); }

}  // namespace vouch::engine::jinja
