#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "engine/chat_template/operators.hpp"
#include "engine/chat_template/value.hpp"

// The parsed template: expressions and statements as plain records, walked by
// the evaluator.
namespace vouch::engine::jinja {

struct expression;
struct statement;
using expression_ptr = std::unique_ptr<const expression>;
using body = std::vector<statement>;

enum class expression_kind {
  constant,     // constant
  name,         // word
  list,         // operands
  tuple,        // operands
  dict,         // operands: key, value, key, value, ...
  unary_not,    // operands[0]
  negate,       // operands[0]
  plus,         // operands[0]
  binary,       // operands[0] op operands[1]
  concatenate,  // operands joined as text
  logical_and,  // operands[0], operands[1]
  logical_or,   // operands[0], operands[1]
  comparison,   // operands[0] comparisons[0] operands[1] comparisons[1] ...
  conditional,  // operands: value, condition, otherwise (may be null)
  attribute,    // operands[0].word
  item,         // operands[0][operands[1]]
  slice,        // operands[0][operands[1]:operands[2]:operands[3]], nulls
  call,         // operands[0](arguments)
  filter,       // operands[0] (null in a filter block) | word(arguments)
  test,         // operands[0] is word(arguments)
};

struct call_arguments {
  std::vector<expression_ptr> positional;
  std::vector<std::pair<std::string, expression_ptr>> keywords;
  expression_ptr star;         // *arguments
  expression_ptr double_star;  // **arguments
};

struct expression {
  expression_kind kind{};
  int line = 0;
  int depth = 1;
  std::vector<expression_ptr> operands;
  value constant;
  std::string word;
  binary_op op{};
  std::vector<compare_op> comparisons;
  call_arguments arguments;
};

enum class statement_kind {
  data,          // text
  print,         // expr
  if_,           // branches, otherwise
  for_,          // target in expr if condition: content, otherwise
  set,           // target = expr
  set_block,     // target = content, through filter expr (may be null)
  with,          // assignments, content
  macro,         // macro
  call_block,    // expr called with macro as its caller
  filter_block,  // content through filter expr
  generation,    // content, in its own scope
  break_,
  continue_,
};

/// Where set and for put values: a name, a namespace's attribute, or several.
struct assign_target {
  std::string name;
  std::string attribute;
  std::vector<assign_target> parts;
};

struct macro_definition {
  std::string name;
  std::vector<std::string> parameters;
  /// Those of the last parameters.
  std::vector<expression_ptr> defaults;
  body content;
  bool uses_caller = false;
  bool uses_varargs = false;
  bool uses_kwargs = false;
};

struct statement {
  statement_kind kind{};
  int line = 0;
  text_ptr data;
  expression_ptr expr;
  expression_ptr condition;
  assign_target target;
  bool recursive = false;
  std::vector<std::pair<expression_ptr, body>> branches;
  std::vector<std::pair<assign_target, expression_ptr>> assignments;
  body content;
  body otherwise;
  std::unique_ptr<const macro_definition> macro;
};

}  // namespace vouch::engine::jinja
