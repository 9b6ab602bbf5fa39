#pragma once

#include "http/fields.hpp"
#include "http/schema.hpp"

// The parts of a request's schema that several routes share.

namespace vouch::http {

/// `model` names the served model, or is absent or empty. Throws api_error
/// (404, model_not_found).
void check_model(object_fields& fields, const schema_context& context);

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
