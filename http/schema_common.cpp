#include <cstdint>
#include <limits>

#include <spdlog/fmt/fmt.h>

#include "http/error.hpp"
#include "http/json_document.hpp"
#include "http/schema_parts.hpp"
#include "http/text.hpp"

namespace vouch::http {

namespace dom = simdjson::dom;

namespace {

constexpr auto any_int64 = std::numeric_limits<std::int64_t>::max();
constexpr std::int64_t max_int32 = std::numeric_limits<std::int32_t>::max();

void read_logit_bias(object_fields& fields, const schema_context& context,
                     engine::sampling_params& sampling) {
  const auto bias = fields.object("logit_bias");
  if (!bias) return;
  for (const auto entry : *bias) {
    std::int64_t id = -1;
    const bool digits =
        !entry.key.empty() && entry.key.size() <= 10 &&
        (entry.key.size() == 1 || entry.key.front() != '0') &&
        entry.key.find_first_not_of("0123456789") == std::string_view::npos;
    if (digits) id = std::stoll(std::string{entry.key});
    if (id < 0 || id >= context.model.vocab_size) {
      throw bad_field("logit_bias",
                      fmt::format("expected keys that are token ids from 0 to "
                                  "{}, given {}",
                                  context.model.vocab_size - 1,
                                  json_quoted(shortened(entry.key, 40))));
    }
    const auto path = fmt::format("logit_bias.{}", id);
    double value = 0;
    if (!entry.value.is_number() || entry.value.get(value) || value < -100 ||
        value > 100)
      expected(path, "a number in [-100, 100]", entry.value);
    sampling.logit_bias.emplace_back(static_cast<engine::token_id>(id),
                                     static_cast<float>(value));
  }
}

void read_sampling(object_fields& fields, const schema_context& context,
                   actors::generation_request& request) {
  const auto& defaults = context.model.defaults;
  auto& sampling = request.sampling;
  const auto number = [&](const char* name, number_range range,
                          std::optional<double> fallback, double otherwise) {
    return static_cast<float>(
        fields.number(name, range).value_or(fallback.value_or(otherwise)));
  };
  sampling.temperature = number("temperature", {0, 2}, defaults.temperature, 1);
  sampling.top_p = number("top_p", {0, 1, true}, defaults.top_p, 1);
  sampling.min_p = number("min_p", {0, 1}, defaults.min_p, 0);
  sampling.presence_penalty = number("presence_penalty", {-2, 2}, {}, 0);
  sampling.frequency_penalty = number("frequency_penalty", {-2, 2}, {}, 0);
  sampling.repetition_penalty = number("repetition_penalty", {0, 10, true},
                                       defaults.repetition_penalty, 1);
  const auto top_k = fields.integer("top_k", -1, max_int32)
                         .value_or(defaults.top_k.value_or(0));
  sampling.top_k = top_k < 0 ? 0 : static_cast<int>(top_k);
  if (const auto seed = fields.integer(
          "seed", std::numeric_limits<std::int64_t>::min(), any_int64)) {
    sampling.seed = static_cast<std::uint64_t>(*seed);
    request.has_seed = true;
  }
  sampling.min_tokens =
      static_cast<int>(fields.integer("min_tokens", 0, max_int32).value_or(0));
  sampling.ignore_eos = fields.boolean("ignore_eos").value_or(false);
  read_logit_bias(fields, context, sampling);
}

void read_stops(object_fields& fields, const schema_context& context,
                actors::generation_request& request) {
  const auto limit =
      static_cast<std::size_t>(context.settings.server.max_stop_strings);
  const auto add = [&](const std::string& path, dom::element element) {
    std::string_view text;
    if (element.get(text)) expected(path, "a string", element);
    if (text.empty() || text.size() > max_stop_bytes) {
      throw bad_field(path, fmt::format("expected 1 to {} bytes, given {}",
                                        max_stop_bytes, text.size()));
    }
    request.stop.emplace_back(text);
  };
  if (const auto stop = fields.any("stop")) {
    if (stop->is_array()) {
      const auto list = stop->get_array().value_unsafe();
      if (list.size() > limit) {
        throw bad_field(
            "stop", fmt::format("expected at most {} strings, given {}", limit,
                                list.size()));
      }
      for (const auto element : list)
        add(fmt::format("stop[{}]", request.stop.size()), element);
    } else if (stop->is_string()) {
      add("stop", *stop);
    } else {
      expected("stop", "a string or a list of strings", *stop);
    }
  }
  if (const auto ids = fields.array("stop_token_ids")) {
    if (ids->size() > max_stop_token_ids) {
      throw bad_field("stop_token_ids",
                      fmt::format("expected at most {} ids, given {}",
                                  max_stop_token_ids, ids->size()));
    }
    request.stop_token_ids =
        token_ids(*ids, "stop_token_ids", context.model.vocab_size);
  }
  request.include_stop_string =
      fields.boolean("include_stop_str_in_output").value_or(false);
  request.skip_special_tokens =
      fields.boolean("skip_special_tokens").value_or(true);
}

void read_streaming(object_fields& fields, generation_job& job, bool strict) {
  job.stream = fields.boolean("stream").value_or(false);
  const auto options = fields.object("stream_options");
  if (!options) return;
  if (!job.stream)
    throw bad_field("stream_options", "is only allowed with stream: true");
  object_fields inner{*options, "stream_options."};
  job.include_usage = inner.boolean("include_usage").value_or(false);
  inner.accept("include_obfuscation");
  inner.reject_unknown(strict);
}

void read_speculation(object_fields& fields, bool strict,
                      actors::generation_request& request) {
  const auto speculation = fields.object("speculation");
  if (!speculation) return;
  object_fields inner{*speculation, "speculation."};
  request.speculation.enabled = inner.boolean("enabled").value_or(true);
  request.speculation.report = inner.boolean("report").value_or(false);
  if (inner.any("max_width"))
    throw not_built_field("speculation.max_width", "a request's own width");
  inner.reject_unknown(strict);
}

void check_model(object_fields& fields, const schema_context& context) {
  const auto name = fields.string("model");
  if (!name || name->empty() || *name == context.model.name) return;
  throw api_error{404,
                  fmt::format("the model {} is not served here; this server "
                              "serves {}",
                              json_quoted(shortened(*name, 100)),
                              json_quoted(context.model.name)),
                  "model", "model_not_found"};
}

}  // namespace

request_fields::request_fields(std::string_view body,
                               const schema_context& context)
    : json_document{body, context.settings.server.max_json_depth},
      object_fields{json_document::object()},
      strict_{context.settings.server.strict} {
  check_model(*this, context);
}

void read_common(object_fields& fields, const schema_context& context,
                 generation_job& job, actors::generation_request& request) {
  const auto& server = context.settings.server;
  read_streaming(fields, job, server.strict);
  job.n = static_cast<std::int32_t>(
      fields.integer("n", 1, server.max_n).value_or(1));
  request.n = job.n;
  const auto max_tokens = fields.integer("max_tokens", 0, any_int64);
  const auto max_completion =
      fields.integer("max_completion_tokens", 0, any_int64);
  request.max_tokens = max_completion ? *max_completion
                       : max_tokens   ? *max_tokens
                                      : -1;
  read_sampling(fields, context, request);
  read_stops(fields, context, request);
  if (const auto top =
          fields.integer("prompt_logprobs", 0, server.max_top_logprobs)) {
    if (job.stream) {
      throw bad_field("prompt_logprobs", "is not allowed with stream: true");
    }
    request.prompt_logprobs = static_cast<std::int32_t>(*top);
    job.prompt_logprobs = true;
    job.prompt_top = static_cast<std::size_t>(*top);
  }
  request.priority = static_cast<std::int32_t>(
      fields
          .integer("priority", std::numeric_limits<std::int32_t>::min(),
                   max_int32)
          .value_or(0));
  request.tenant = fields.string("user", max_user_bytes).value_or("");
  read_speculation(fields, server.strict, request);
}

void refuse_not_built(object_fields& fields) {
  if (const auto format = fields.object("response_format")) {
    object_fields inner{*format, "response_format."};
    const auto type = inner.string("type");
    if (!type) throw bad_field("response_format.type", "is required");
    if (*type != "text" && *type != "json_object" && *type != "json_schema")
      throw bad_field("response_format.type",
                      "expected text, json_object or json_schema, given " +
                          json_quoted(shortened(*type, 40)));
    if (*type != "text")
      throw not_built_field("response_format", "any type other than text");
  }
  for (const auto* name : {"guided_json", "guided_regex", "guided_choice",
                           "guided_grammar", "grammar", "structured_outputs"}) {
    if (fields.any(name)) throw not_built_field(name, "constrained output");
  }
}

}  // namespace vouch::http
