#pragma once

#include <memory>
#include <string_view>
#include <utility>
#include <vector>

#include "engine/chat_template/ast.hpp"
#include "engine/chat_template/context.hpp"

namespace vouch::engine::jinja {

/// Names and their values, inside of one another: the template, a loop's
/// iteration, a macro's call. Names point into the syntax tree.
struct scope {
  scope* parent = nullptr;
  std::vector<std::pair<std::string_view, value>> names;
  /// A macro refers to it, so it must live as long as the rendering.
  bool captured = false;

  const value* find(std::string_view name) const;
  void set(std::string_view name, value v);
};

/// Walks a parsed template once. The tree and the names of `globals` must
/// outlive it.
class evaluator final : public context {
 public:
  evaluator(const template_budget& budget,
            std::chrono::system_clock::time_point now)
      : context(budget, now) {}
  ~evaluator() override;

  /// Defines a name the template sees.
  void define(std::string_view name, value v) { root_.set(name, std::move(v)); }
  /// Throws render_error; `line` says where.
  text run(const body& content);

  value make_namespace(dict attributes) override;

  value call_macro(const macro_definition& m, scope* closure,
                   const arguments& args);
  value call_loop(const statement& s, scope* closure, const value& items,
                  int depth);

 private:
  enum class flow { normal, break_, continue_ };
  class scope_guard;

  flow execute(const body& content);
  flow execute(const statement& s);
  flow execute_for(const statement& s, const value& items, int depth);
  void execute_set_block(const statement& s);
  void execute_with(const statement& s);
  void execute_call_block(const statement& s);
  void write(const text& t);
  /// What a body in a scope of its own writes.
  text capture(const body& content);

  void assign(const assign_target& target, const value& v);
  value make_macro(const macro_definition& m);

  value evaluate(const expression& e);
  value evaluate_name(const expression& e);
  value evaluate_dict(const expression& e);
  value evaluate_concatenation(const expression& e);
  value evaluate_comparison(const expression& e);
  value evaluate_conditional(const expression& e);
  value evaluate_call(const expression& e, const value* caller);
  value apply_filter(const expression& e, const value& subject);
  /// Through the filters of a filter or set block.
  value apply_filter_chain(const expression& e, const value& subject);
  std::vector<value> evaluate_all(const std::vector<expression_ptr>& list);
  arguments evaluate_arguments(const call_arguments& call);
  value call(const value& callee, const arguments& args);

  scope root_;
  scope* scope_ = &root_;
  text* out_ = nullptr;
  std::vector<std::unique_ptr<scope>> captured_;
  std::vector<namespace_ptr> namespaces_;
};

}  // namespace vouch::engine::jinja
