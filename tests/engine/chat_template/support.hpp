#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "engine/chat_template/chat_template.hpp"

namespace vouch::test {

inline std::string render(std::string_view source,
                          const engine::template_input& input = {}) {
  return engine::joined(engine::chat_template{source, "t"}.render(input));
}

inline std::string render_with(std::string_view source,
                               const std::string& variables) {
  engine::template_input input;
  input.variables = variables;
  return render(source, input);
}

/// The spans with untrusted ones in ⟦⟧.
inline std::string marked(const std::vector<engine::text_span>& spans) {
  std::string out;
  for (const engine::text_span& span : spans) {
    out += span.trusted ? span.text : "⟦" + span.text + "⟧";
  }
  return out;
}

inline std::string marked_with(std::string_view source,
                               const std::string& variables) {
  engine::template_input input;
  input.variables = variables;
  return marked(engine::chat_template{source, "t"}.render(input));
}

/// The message of the template_error that rendering throws; "" for none.
inline std::string error_of(std::string_view source,
                            const engine::template_input& input = {}) {
  try {
    render(source, input);
  } catch (const engine::template_error& e) {
    return e.what();
  }
  return "";
}

/// The message of the input_error that parsing throws; "" for none.
inline std::string parse_error_of(std::string_view source) {
  try {
    engine::chat_template{source, "t"};
  } catch (const engine::input_error& e) {
    return e.what();
  }
  return "";
}

}  // namespace vouch::test
