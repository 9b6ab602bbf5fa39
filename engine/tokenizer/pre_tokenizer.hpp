#pragma once

#include <deque>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "engine/tokenizer/pattern.hpp"
#include "engine/tokenizer/regex.hpp"
#include "engine/tokenizer/unicode.hpp"

namespace vouch::engine {

/// Pieces of text on their way through the pre-tokenizers. Pieces that a step
/// had to rewrite live in `owned`.
struct piece_list {
  std::vector<std::string_view> pieces;
  std::deque<std::string> owned;

  void add(std::string_view piece) {
    if (!piece.empty()) pieces.push_back(piece);
  }
};

/// What becomes of the delimiters (tokenizer.json: "behavior").
enum class split_behavior {
  removed,
  isolated,
  merged_with_previous,
  merged_with_next,
  contiguous
};

/// One step of a tokenizer.json pre-tokenizer; it sees each piece of the step
/// before it alone.
class split_step {
 public:
  virtual ~split_step() = default;
  /// Adds the pieces of `piece`, valid UTF-8. `at_start`: it begins the input.
  virtual void split(std::string_view piece, bool at_start,
                     piece_list& out) const = 0;
};

using split_steps = std::vector<std::unique_ptr<const split_step>>;

/// One of the known expressions, isolated.
std::unique_ptr<split_step> make_pattern_split(pattern_kind kind);
/// With `invert` the matches are the pieces and the gaps the delimiters.
std::unique_ptr<split_step> make_regex_split(regex expression,
                                             split_behavior behavior,
                                             bool invert);
std::unique_ptr<split_step> make_literal_split(std::string delimiter,
                                               split_behavior behavior,
                                               bool invert);
/// Delimiters are the characters of these classes.
std::unique_ptr<split_step> make_class_split(
    const std::vector<char_class>& classes, split_behavior behavior);
/// ByteLevel's add_prefix_space: a space before pieces that do not begin with
/// one.
std::unique_ptr<split_step> make_prefix_space();

/// When Metaspace puts its mark before a piece that does not begin with it.
enum class prepend_scheme { never, first, always };
/// Spaces become `mark`; with `split` a piece begins at every mark.
std::unique_ptr<split_step> make_metaspace(std::string mark,
                                           prepend_scheme scheme, bool split);

/// Runs the steps in order over `text`, which begins the input if `at_start`.
void pre_tokenize(const split_steps& steps, std::string_view text,
                  bool at_start, piece_list& out);

}  // namespace vouch::engine
