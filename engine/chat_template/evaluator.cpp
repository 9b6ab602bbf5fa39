#include "engine/chat_template/evaluator.hpp"

#include <algorithm>

#include "engine/chat_template/filters.hpp"
#include "engine/chat_template/repr.hpp"

namespace vouch::engine::jinja {
namespace {

class macro final : public callable {
 public:
  macro(evaluator& owner, const macro_definition& definition, scope* closure)
      : owner_(owner), definition_(definition), closure_(closure) {}
  value call(context&, const arguments& args) override {
    return owner_.call_macro(definition_, closure_, args);
  }
  std::string describe() const override {
    return "<Macro '" + definition_.name + "'>";
  }
  value name() const override { return make_string(definition_.name, true); }

 private:
  evaluator& owner_;
  const macro_definition& definition_;
  scope* closure_;
};

/// loop(items), in a recursive loop.
class loop_recursion final : public callable {
 public:
  loop_recursion(evaluator& owner, const statement& loop, scope* closure,
                 int depth)
      : owner_(owner), loop_(loop), closure_(closure), depth_(depth) {}
  value call(context&, const arguments& args) override {
    if (args.positional.size() != 1 || !args.keywords.empty()) {
      throw render_error("loop() takes exactly one argument");
    }
    return owner_.call_loop(loop_, closure_, args.positional[0], depth_);
  }
  std::string describe() const override { return "<loop>"; }

 private:
  evaluator& owner_;
  const statement& loop_;
  scope* closure_;
  int depth_;
};

void capture_scope(scope* s) {
  for (; s && !s->captured; s = s->parent) s->captured = true;
}

}  // namespace

const value* scope::find(std::string_view name) const {
  for (const scope* s = this; s; s = s->parent) {
    for (const auto& [key, v] : s->names) {
      if (key == name) return &v;
    }
  }
  return nullptr;
}

void scope::set(std::string_view name, value v) {
  for (auto& [key, old] : names) {
    if (key != name) continue;
    old = std::move(v);
    return;
  }
  names.emplace_back(name, std::move(v));
}

/// Enters a new scope; keeps it when something captured it.
class evaluator::scope_guard {
 public:
  scope_guard(evaluator& e, scope* parent)
      : e_(e), outer_(e.scope_), scope_(std::make_unique<scope>()) {
    scope_->parent = parent;
    e_.scope_ = scope_.get();
  }
  ~scope_guard() {
    e_.scope_ = outer_;
    if (scope_->captured) e_.captured_.push_back(std::move(scope_));
  }
  scope_guard(const scope_guard&) = delete;
  scope_guard& operator=(const scope_guard&) = delete;

 private:
  evaluator& e_;
  scope* outer_;
  std::unique_ptr<scope> scope_;
};

evaluator::~evaluator() {
  // Namespaces and captured scopes may refer to one another in circles.
  for (const namespace_ptr& n : namespaces_) n->attributes = {};
  for (const auto& s : captured_) s->names.clear();
  root_.names.clear();
}

text evaluator::run(const body& content) {
  text out;
  out_ = &out;
  execute(content);
  return out;
}

value evaluator::make_namespace(dict attributes) {
  auto n = std::make_shared<name_space>();
  n->attributes = std::move(attributes);
  namespaces_.push_back(n);
  return value{std::move(n)};
}

void evaluator::write(const text& t) {
  check_bytes(out_->size() + t.size());
  charge(t.size() / 512);
  out_->append(t);
}

text evaluator::capture(const body& content) {
  const scope_guard guard{*this, scope_};
  text inner;
  text* outer = std::exchange(out_, &inner);
  try {
    execute(content);
  } catch (...) {
    out_ = outer;
    throw;
  }
  out_ = outer;
  return inner;
}

evaluator::flow evaluator::execute(const body& content) {
  const nesting guard{*this};
  for (const statement& s : content) {
    const flow f = execute(s);
    if (f != flow::normal) return f;
  }
  return flow::normal;
}

evaluator::flow evaluator::execute(const statement& s) {
  charge();
  line = s.line;
  switch (s.kind) {
    case statement_kind::data:
      write(*s.data);
      break;
    case statement_kind::print:
      write(to_text(*this, evaluate(*s.expr)));
      break;
    case statement_kind::if_:
      for (const auto& [condition, content] : s.branches) {
        if (evaluate(*condition).truthy()) return execute(content);
      }
      return execute(s.otherwise);
    case statement_kind::for_:
      return execute_for(s, evaluate(*s.expr), 1);
    case statement_kind::set:
      assign(s.target, evaluate(*s.expr));
      break;
    case statement_kind::set_block:
      execute_set_block(s);
      break;
    case statement_kind::with:
      execute_with(s);
      break;
    case statement_kind::macro:
      scope_->set(s.macro->name, make_macro(*s.macro));
      break;
    case statement_kind::call_block:
      execute_call_block(s);
      break;
    case statement_kind::filter_block:
      write(to_text(*this,
                    apply_filter_chain(*s.expr, value{capture(s.content)})));
      break;
    case statement_kind::generation: {
      const scope_guard guard{*this, scope_};
      return execute(s.content);
    }
    case statement_kind::break_:
      return flow::break_;
    case statement_kind::continue_:
      return flow::continue_;
  }
  return flow::normal;
}

evaluator::flow evaluator::execute_for(const statement& s, const value& items,
                                       int depth) {
  auto loop = std::make_shared<loop_state>();
  loop->depth = depth;
  loop->items = iterate(*this, items);
  if (s.condition) {
    std::vector<value> kept;
    for (value& item : loop->items) {
      const scope_guard guard{*this, scope_};
      assign(s.target, item);
      if (evaluate(*s.condition).truthy()) kept.push_back(std::move(item));
    }
    loop->items = std::move(kept);
  }
  for (const value& item : loop->items) {
    loop->item_depth = std::max(loop->item_depth, item.depth());
  }
  // loop.changed(loop) would make a circle.
  struct forget_changed {
    loop_state& loop;
    ~forget_changed() { loop.last_changed.clear(); }
  } const forget{*loop};
  if (s.recursive) {
    capture_scope(scope_);
    loop->recurse =
        std::make_shared<loop_recursion>(*this, s, scope_, depth + 1);
  }
  scope* const outer = scope_;
  // As in Jinja, an iteration that break or continue left does not count.
  bool completed = false;
  for (std::size_t i = 0; i < loop->items.size(); ++i) {
    charge();
    loop->index = i;
    const scope_guard guard{*this, outer};
    scope_->set("loop", value{loop});
    assign(s.target, loop->items[i]);
    const flow f = execute(s.content);
    if (f == flow::break_) break;
    completed = completed || f == flow::normal;
  }
  if (completed) return flow::normal;
  const scope_guard guard{*this, outer};
  return execute(s.otherwise);
}

value evaluator::call_loop(const statement& s, scope* closure,
                           const value& items, int depth) {
  const nesting guard{*this};
  text inner;
  text* outer = std::exchange(out_, &inner);
  scope* const scope_before = std::exchange(scope_, closure);
  try {
    execute_for(s, items, depth);
  } catch (...) {
    out_ = outer;
    scope_ = scope_before;
    throw;
  }
  out_ = outer;
  scope_ = scope_before;
  return value{std::move(inner)};
}

void evaluator::execute_set_block(const statement& s) {
  value v{capture(s.content)};
  if (s.expr) v = apply_filter_chain(*s.expr, v);
  assign(s.target, v);
}

void evaluator::execute_with(const statement& s) {
  // The values do not see one another's names.
  std::vector<value> values;
  for (const auto& assignment : s.assignments) {
    values.push_back(evaluate(*assignment.second));
  }
  const scope_guard guard{*this, scope_};
  for (std::size_t i = 0; i < values.size(); ++i) {
    assign(s.assignments[i].first, values[i]);
  }
  execute(s.content);
}

value evaluator::make_macro(const macro_definition& m) {
  capture_scope(scope_);
  return value{callable_ptr{std::make_shared<macro>(*this, m, scope_)}};
}

void evaluator::execute_call_block(const statement& s) {
  const value caller = make_macro(*s.macro);
  write(to_text(*this, evaluate_call(*s.expr, &caller)));
}

value evaluator::call_macro(const macro_definition& m, scope* closure,
                            const arguments& args) {
  const nesting guard{*this};
  const std::size_t count = m.parameters.size();
  std::vector<const value*> bound(count, nullptr);
  const std::size_t given = args.positional.size();
  for (std::size_t i = 0; i < std::min(count, given); ++i) {
    bound[i] = &args.positional[i];
  }
  if (given > count && !m.uses_varargs) {
    throw render_error("macro '" + m.name + "' takes not more than " +
                       std::to_string(count) + " argument(s)");
  }
  const scope_guard names{*this, closure};
  dict extra;
  bool has_caller = false;
  for (const auto& [name, v] : args.keywords) {
    const auto it = std::find(m.parameters.begin(), m.parameters.end(), name);
    if (it != m.parameters.end()) {
      const value*& slot =
          bound[static_cast<std::size_t>(it - m.parameters.begin())];
      if (slot) {
        throw render_error("macro '" + m.name +
                           "' got multiple values for argument '" + name + "'");
      }
      slot = &v;
    } else if (name == "caller" && m.uses_caller) {
      scope_->set("caller", v);
      has_caller = true;
    } else if (m.uses_kwargs) {
      extra.set(make_string(name, true), v);
    } else if (name == "caller") {
      throw render_error(
          "macro '" + m.name +
          "' was invoked with two values for the special caller argument. "
          "This is most likely a bug.");
    } else {
      throw render_error("macro '" + m.name + "' takes no keyword argument '" +
                         name + "'");
    }
  }
  if (m.uses_caller && !has_caller) {
    scope_->set("caller", value::undefined("No caller defined"));
  }
  if (m.uses_kwargs) scope_->set("kwargs", make_dict(std::move(extra)));
  if (m.uses_varargs) {
    std::vector<value> rest;
    for (std::size_t i = count; i < given; ++i) {
      rest.push_back(args.positional[i]);
    }
    scope_->set("varargs", make_tuple(std::move(rest)));
  }
  const std::size_t first_default = count - m.defaults.size();
  for (std::size_t i = 0; i < count; ++i) {
    value v;
    if (bound[i]) {
      v = *bound[i];
    } else if (i >= first_default) {
      v = evaluate(*m.defaults[i - first_default]);
    } else {
      v = value::undefined("parameter '" + m.parameters[i] +
                           "' was not provided");
    }
    scope_->set(m.parameters[i], std::move(v));
  }
  return value{capture(m.content)};
}

void evaluator::assign(const assign_target& target, const value& v) {
  charge();
  if (!target.parts.empty()) {
    require_defined(v);
    if (v.is_none() || v.is_number() || v.is_callable()) {
      throw render_error("cannot unpack non-iterable " + v.type_name() +
                         " object");
    }
    const std::vector<value> items = iterate(*this, v);
    const std::size_t expected = target.parts.size();
    if (items.size() > expected) {
      throw render_error("too many values to unpack (expected " +
                         std::to_string(expected) + ")");
    }
    if (items.size() < expected) {
      throw render_error("not enough values to unpack (expected " +
                         std::to_string(expected) + ", got " +
                         std::to_string(items.size()) + ")");
    }
    for (std::size_t i = 0; i < expected; ++i) {
      assign(target.parts[i], items[i]);
    }
  } else if (target.attribute.empty()) {
    scope_->set(target.name, v);
  } else {
    const value* owner = scope_->find(target.name);
    if (!owner || !owner->is_namespace()) {
      throw render_error("cannot assign attribute on non-namespace object");
    }
    check_namespace_name(target.attribute);
    owner->as_namespace().attributes.set(make_string(target.attribute, true),
                                         v);
  }
}

}  // namespace vouch::engine::jinja
