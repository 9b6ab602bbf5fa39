#pragma once

#include <string_view>

#include "http/fields.hpp"
#include "http/json_document.hpp"
#include "http/schema.hpp"

// The parts of a request's schema that several routes share.

namespace vouch::http {

/// What every request's body begins and ends with. Throws api_error.
class request_fields : private json_document, public object_fields {
 public:
  /// Parses the body and checks `model`, which must name the served model (404,
  /// model_not_found), or be absent or empty.
  request_fields(std::string_view body, const schema_context& context);

  using object_fields::object;
  /// Refuses fields that nobody asked for where the server is strict.
  void reject_unknown() const { object_fields::reject_unknown(strict_); }

 private:
  bool strict_;
};

/// Sampling, lengths, stops, streaming, priority, user: everything that chat
/// and completions have in common. The model's own generation defaults hold
/// where the request says nothing.
void read_common(object_fields& fields, const schema_context& context,
                 generation_job& job, actors::generation_request& request);

/// Fields of features that come later: a clear 400.
void refuse_not_built(object_fields& fields);

/// Fills messages, tools, template_variables and add_generation_prompt.
void read_chat_prompt(object_fields& fields, const schema_context& context,
                      template_job& prompt);

}  // namespace vouch::http
