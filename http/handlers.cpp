#include "http/handlers.hpp"

#include <stdexcept>
#include <utility>

#include <boost/json.hpp>
#include <spdlog/fmt/fmt.h>

#include "engine/chat_template/chat_template.hpp"
#include "http/json_document.hpp"
#include "http/speculation.hpp"
#include "http/text.hpp"
#include "runtime/build_info.hpp"

namespace vouch::http {

namespace json = boost::json;

namespace {

using model_pointer = std::shared_ptr<const runtime::model_info>;

reply json_reply(const json::value& body, int status = 200) {
  reply response;
  response.status = status;
  response.body = json::serialize(body);
  return response;
}

model_pointer ready_model(const backend& model_side) {
  const auto state = model_side.state();
  auto model = model_side.model();
  if (state == runtime::state::ready && model) return model;
  const std::string why =
      state == runtime::state::loading  ? "the model is still loading"
      : state == runtime::state::failed ? "the model could not be loaded"
                                        : "the server is shutting down";
  throw api_error{503, why, {}, "unavailable"};
}

reply health(const backend& model_side) {
  const bool alive = model_side.healthy();
  return json_reply({{"status", alive ? "ok" : "failed"}}, alive ? 200 : 503);
}

reply readiness(const backend& model_side) {
  using runtime::state;
  const auto now = model_side.state();
  if (now == state::ready) return json_reply({{"status", "ready"}});
  json::object body;
  body["status"] = now == state::loading    ? "loading"
                   : now == state::draining ? "draining"
                   : now == state::stopped  ? "stopped"
                                            : "failed";
  if (now == state::loading) body["loaded"] = model_side.load_share();
  auto response = json_reply(body, 503);
  response.headers.emplace_back("retry-after", "1");
  return response;
}

json::object model_object(const runtime::model_info& model) {
  json::object object;
  object["id"] = model.name;
  object["object"] = "model";
  object["created"] = model.created;
  object["owned_by"] = "vouch";
  object["max_model_len"] = model.max_context;
  return object;
}

reply models(const runtime::model_info& model) {
  json::object body;
  body["object"] = "list";
  body["data"] = json::array{model_object(model)};
  return json_reply(body);
}

reply one_model(const runtime::model_info& model, const std::string& name) {
  if (name == model.name) return json_reply(model_object(model));
  throw api_error{404,
                  fmt::format("the model {} is not served here",
                              json_quoted(shortened(valid_utf8(name), 100))),
                  "model", "model_not_found"};
}

reply tokenized(const tokenize_job& job, const backend& model_side,
                const runtime::model_info& model) {
  const auto ids = model_side.tokenize(job);
  json::object body;
  body["count"] = ids.size();
  body["max_model_len"] = model.max_context;
  body["tokens"] = json::array(ids.begin(), ids.end());
  if (job.with_pieces) {
    json::array pieces;
    for (const auto id : ids)
      pieces.push_back(json::value(valid_utf8(model_side.token_bytes(id))));
    body["token_strs"] = std::move(pieces);
  }
  return json_reply(body);
}

reply detokenized(const detokenize_job& job, const backend& model_side) {
  json::object body;
  body["prompt"] = model_side.detokenize(job.tokens, job.skip_special_tokens);
  return json_reply(body);
}

reply templated(const template_job& job, const backend& model_side) {
  try {
    json::object body;
    body["prompt"] = model_side.apply_template(job);
    return json_reply(body);
  } catch (const engine::template_error& error) {
    // As a chat's failed request has it.
    throw api_error{400, std::string{"chat template: "} + error.what(),
                    "messages", "invalid_value"};
  } catch (const std::invalid_argument& error) {
    throw api_error{400, error.what(), "messages", "invalid_value"};
  }
}

// Runs `work`; what it throws becomes a reply.
template <class Work>
reply guarded(Work&& work) {
  try {
    return work();
  } catch (const api_error& error) {
    return error_reply(error);
  } catch (const std::exception& error) {
    return error_reply({500, error.what(), {}, "internal_error"});
  }
}

template <class Work>
deferred_reply later(Work work) {
  return [work = std::move(work)] { return guarded(work); };
}

outcome dispatch(const routing& target, std::string body, const backend& side,
                 const runtime::config& settings) {
  switch (*target.route) {
    case route_id::health:
      return health(side);
    case route_id::ready:
      return readiness(side);
    case route_id::version:
      return json_reply({{"version", runtime::version()}});
    case route_id::speculation:
      return json_reply(speculation_object(side.speculation()));
    case route_id::metrics:
      return later([&side] {
        reply response;
        response.content_type = "text/plain; version=0.0.4; charset=utf-8";
        response.body = side.metrics();
        return response;
      });
    default:
      break;
  }
  auto model = ready_model(side);
  const schema_context context{settings, *model, side.max_queued_requests()};
  switch (*target.route) {
    case route_id::models:
      return models(*model);
    case route_id::model:
      return one_model(*model, target.argument);
    case route_id::tokenize:
      return later([job = parse_tokenize(body, context), &side, model] {
        return tokenized(job, side, *model);
      });
    case route_id::detokenize:
      return later([job = parse_detokenize(body, context), &side] {
        return detokenized(job, side);
      });
    case route_id::apply_template:
      return later([job = parse_template(body, context), &side] {
        return templated(job, side);
      });
    case route_id::chat:
      return generation_start{parse_chat(body, context), model};
    default:
      return generation_start{parse_completion(body, context), model};
  }
}

}  // namespace

outcome handle(const routing& target, std::string body,
               const backend& model_side, const runtime::config& settings) {
  try {
    return dispatch(target, std::move(body), model_side, settings);
  } catch (const api_error& error) {
    return error_reply(error);
  } catch (const std::exception& error) {
    return error_reply({500, error.what(), {}, "internal_error"});
  }
}

}  // namespace vouch::http
