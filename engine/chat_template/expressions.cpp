#include "engine/chat_template/evaluator.hpp"
#include "engine/chat_template/filters.hpp"
#include "engine/chat_template/repr.hpp"

namespace vouch::engine::jinja {

value evaluator::evaluate(const expression& e) {
  charge();
  const nesting guard{*this};
  line = e.line;
  const auto operand = [&](std::size_t i) { return evaluate(*e.operands[i]); };
  const auto optional = [&](std::size_t i) {
    return e.operands[i] ? evaluate(*e.operands[i]) : value::none();
  };
  switch (e.kind) {
    case expression_kind::constant:
      return e.constant;
    case expression_kind::name:
      return evaluate_name(e);
    case expression_kind::list:
      return make_list(evaluate_all(e.operands));
    case expression_kind::tuple:
      return make_tuple(evaluate_all(e.operands));
    case expression_kind::dict:
      return evaluate_dict(e);
    case expression_kind::unary_not:
      return value{!operand(0).truthy()};
    case expression_kind::negate:
      return negate(operand(0));
    case expression_kind::plus:
      return plus(operand(0));
    case expression_kind::binary: {
      const value a = operand(0);
      const value b = operand(1);
      line = e.line;
      return binary(*this, e.op, a, b);
    }
    case expression_kind::concatenate:
      return evaluate_concatenation(e);
    case expression_kind::logical_and: {
      value a = operand(0);
      return a.truthy() ? operand(1) : a;
    }
    case expression_kind::logical_or: {
      value a = operand(0);
      return a.truthy() ? a : operand(1);
    }
    case expression_kind::comparison:
      return evaluate_comparison(e);
    case expression_kind::conditional:
      return evaluate_conditional(e);
    case expression_kind::attribute: {
      const value subject = operand(0);
      line = e.line;
      return get_attribute(*this, subject, e.word);
    }
    case expression_kind::item: {
      const value subject = operand(0);
      const value key = operand(1);
      line = e.line;
      return get_item(*this, subject, key);
    }
    case expression_kind::slice: {
      const value subject = operand(0);
      const value start = optional(1);
      const value stop = optional(2);
      return get_slice(*this, subject, start, stop, optional(3));
    }
    case expression_kind::call:
      return evaluate_call(e, nullptr);
    case expression_kind::filter:
      return apply_filter(e, operand(0));
    case expression_kind::test: {
      const test_function test = find_test(e.word);
      const value subject = operand(0);
      const arguments args = evaluate_arguments(e.arguments);
      line = e.line;
      if (!test) throw render_error("No test named '" + e.word + "' found.");
      return value{test(*this, subject, args)};
    }
  }
  return {};
}

value evaluator::evaluate_name(const expression& e) {
  if (const value* v = scope_->find(e.word)) return *v;
  value global = find_global(e.word);
  if (!global.is_undefined()) return global;
  return value::undefined("'" + e.word + "' is undefined");
}

value evaluator::evaluate_dict(const expression& e) {
  dict d;
  for (std::size_t i = 0; i + 1 < e.operands.size(); i += 2) {
    value key = evaluate(*e.operands[i]);
    d.set(std::move(key), evaluate(*e.operands[i + 1]));
  }
  return make_dict(std::move(d));
}

value evaluator::evaluate_concatenation(const expression& e) {
  text all;
  for (const expression_ptr& part : e.operands) {
    const text piece = to_text(*this, evaluate(*part));
    charge_bytes(all.size() + piece.size());
    all.append(piece);
  }
  return value{std::move(all)};
}

value evaluator::evaluate_comparison(const expression& e) {
  value left = evaluate(*e.operands[0]);
  for (std::size_t i = 0; i < e.comparisons.size(); ++i) {
    value right = evaluate(*e.operands[i + 1]);
    line = e.line;
    if (!compare(*this, e.comparisons[i], left, right)) return value{false};
    left = std::move(right);
  }
  return value{true};
}

value evaluator::evaluate_conditional(const expression& e) {
  if (evaluate(*e.operands[1]).truthy()) return evaluate(*e.operands[0]);
  if (e.operands[2]) return evaluate(*e.operands[2]);
  return value::undefined("the inline if-expression on line " +
                          std::to_string(e.line) +
                          " evaluated to false and no else section was "
                          "defined.");
}

std::vector<value> evaluator::evaluate_all(
    const std::vector<expression_ptr>& list) {
  std::vector<value> values;
  values.reserve(list.size());
  for (const expression_ptr& e : list) values.push_back(evaluate(*e));
  return values;
}

arguments evaluator::evaluate_arguments(const call_arguments& call) {
  arguments args;
  args.positional = evaluate_all(call.positional);
  for (const auto& [name, e] : call.keywords) {
    args.keywords.emplace_back(name, evaluate(*e));
  }
  if (call.star) {
    for (value& v : iterate(*this, evaluate(*call.star))) {
      args.positional.push_back(std::move(v));
    }
  }
  if (call.double_star) {
    const value extra = evaluate(*call.double_star);
    if (!extra.is_dict()) {
      throw render_error("argument after ** must be a mapping, not " +
                         extra.type_name());
    }
    for (const auto& [key, v] : extra.as_dict().entries) {
      if (!key.is_string()) throw render_error("keywords must be strings");
      args.keywords.emplace_back(key.bytes(), v);
    }
  }
  return args;
}

value evaluator::evaluate_call(const expression& e, const value* caller) {
  const value callee = evaluate(*e.operands[0]);
  arguments args = evaluate_arguments(e.arguments);
  if (caller) args.keywords.emplace_back("caller", *caller);
  line = e.line;
  return call(callee, args);
}

value evaluator::call(const value& callee, const arguments& args) {
  require_defined(callee);
  if (callee.is_loop() && callee.as_loop().recurse) {
    return callee.as_loop().recurse->call(*this, args);
  }
  if (callee.is_loop()) {
    throw render_error(
        "The loop must have the 'recursive' marker to be called "
        "recursively.");
  }
  if (!callee.is_callable()) {
    throw render_error("'" + callee.type_name() + "' object is not callable");
  }
  return callee.as_callable().call(*this, args);
}

value evaluator::apply_filter(const expression& e, const value& subject) {
  const filter_function filter = find_filter(e.word);
  const arguments args = evaluate_arguments(e.arguments);
  line = e.line;
  if (!filter) throw render_error("No filter named '" + e.word + "' found.");
  return filter(*this, subject, args);
}

value evaluator::apply_filter_chain(const expression& e, const value& subject) {
  if (!e.operands[0]) return apply_filter(e, subject);
  return apply_filter(e, apply_filter_chain(*e.operands[0], subject));
}

}  // namespace vouch::engine::jinja
