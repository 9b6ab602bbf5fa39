#include "engine/chat_template/context.hpp"

namespace vouch::engine::jinja {

void context::out_of_steps() const {
  throw render_error("rendering took more than " +
                     std::to_string(budget_.steps) + " steps");
}

void context::out_of_bytes() const {
  throw render_error("the text is longer than " +
                     std::to_string(budget_.output_bytes) + " bytes");
}

void context::too_deep() {
  throw render_error("maximum recursion depth exceeded");
}

}  // namespace vouch::engine::jinja
