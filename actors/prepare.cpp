#include "actors/prepare.hpp"

#include <algorithm>
#include <chrono>

#include "engine/sampling/validate.hpp"
#include "kernels/kv_layout.hpp"

namespace vouch::actors {
namespace {

using engine::token_id;

[[noreturn]] void reject(std::string param, const std::string& message) {
  throw request_error{failure::invalid, std::move(param), message};
}

void check_id(std::int64_t id, std::int64_t limit, const char* param,
              std::size_t index) {
  if (id < 0 || id >= limit) {
    reject(param, std::string{param} + "[" + std::to_string(index) +
                      "]: token id " + std::to_string(id) +
                      " is not in the vocabulary (0 to " +
                      std::to_string(limit - 1) + ")");
  }
}

const char* prompt_field(const generation_request& request) {
  return request.kind == prompt_kind::chat ? "messages" : "prompt";
}

/// Each choice costs memory before anything bounds it.
constexpr std::int32_t max_choices = 1024;

void check_fields(const generation_request& request, const serving& model) {
  if (request.n < 1 || request.n > max_choices) {
    reject("n", "n must be between 1 and " + std::to_string(max_choices));
  }
  if (request.max_tokens < -1) {
    reject("max_tokens", "max_tokens must not be negative");
  }
  if (request.max_tokens == 0 && !request.echo && request.prompt_logprobs < 0) {
    reject("max_tokens", "max_tokens must be at least 1 unless echo is set");
  }
  if (request.max_tokens > 0 &&
      request.sampling.min_tokens > request.max_tokens) {
    reject("min_tokens", "min_tokens must not be larger than max_tokens");
  }
  for (const auto& stop : request.stop) {
    if (stop.empty()) {
      reject("stop", "a stop string must not be empty");
    }
  }
  const auto limit = model.id_limit();
  for (std::size_t i = 0; i < request.stop_token_ids.size(); ++i) {
    check_id(request.stop_token_ids[i], limit, "stop_token_ids", i);
  }
  for (std::size_t i = 0; i < request.sampling.logit_bias.size(); ++i) {
    check_id(request.sampling.logit_bias[i].first, limit, "logit_bias", i);
  }
}

std::vector<engine::text_span> render(const generation_request& request,
                                      const serving& model) {
  if (!model.parts.chat_template) {
    reject("messages",
           "the model has no chat template; use /v1/completions or start "
           "with a template");
  }
  engine::template_input input;
  input.messages = request.messages;
  input.tools = request.tools;
  input.variables = request.template_variables;
  input.add_generation_prompt = request.add_generation_prompt;
  input.special_tokens = model.special_tokens;
  input.now = std::chrono::system_clock::now();
  try {
    auto spans = model.parts.chat_template->render(input);
    if (request.trust_special_tokens) {
      for (auto& span : spans) {
        span.trusted = true;
      }
    }
    return spans;
  } catch (const engine::template_error& error) {
    reject("messages", std::string{"chat template: "} + error.what());
  } catch (const std::invalid_argument& error) {
    reject("messages", error.what());
  }
}

void tokenise(const generation_request& request, const serving& model,
              prepared_request& out) {
  const auto& tokenizer = *model.parts.tokenizer;
  switch (request.kind) {
    case prompt_kind::text: {
      engine::encode_options options;
      options.add_special_tokens = request.add_special_tokens;
      out.prompt = tokenizer.encode(request.text, options);
      out.prompt_text = request.text;
      break;
    }
    case prompt_kind::tokens:
      for (std::size_t i = 0; i < request.tokens.size(); ++i) {
        check_id(request.tokens[i], model.id_limit(), "prompt", i);
      }
      out.prompt = request.tokens;
      break;
    case prompt_kind::chat: {
      engine::encode_options options;
      options.add_special_tokens = false;
      out.prompt = tokenizer.encode(render(request, model), options);
      break;
    }
  }
  if (request.kind != prompt_kind::text && request.echo) {
    out.prompt_text = tokenizer.decode(out.prompt, request.skip_special_tokens);
  }
}

void check_length(const generation_request& request, const serving& model,
                  prepared_request& out) {
  const auto count = static_cast<std::int64_t>(out.prompt.size());
  if (count == 0) {
    reject(prompt_field(request), "the prompt holds no tokens");
  }
  const std::int64_t context = model.limits.context;
  const auto least = out.max_tokens == 0 ? 0 : 1;
  if (count + least > context) {
    throw request_error{failure::context_length, prompt_field(request),
                        "the model's context is " + std::to_string(context) +
                            " tokens, but the prompt has " +
                            std::to_string(count) +
                            (least == 1 ? " and needs room for one more" : "")};
  }
  const std::int64_t pool =
      std::int64_t{model.limits.blocks} * kernels::kv_block_tokens;
  if (count > pool) {
    const auto event = describe(engine::rejection::prompt_larger_than_pool,
                                request.id, count, model);
    throw request_error{event.kind, prompt_field(request), event.message};
  }
  const auto left = context - count;
  if (out.max_tokens < 0 || out.max_tokens > left) {
    out.max_tokens = left;
  }
}

void fill_sampling(const generation_request& request, const serving& model,
                   prepared_request& out) {
  out.sampling = request.sampling;
  out.logprobs = request.sampling.logprobs;
  out.prompt_logprobs = request.prompt_logprobs;
  if (request.echo && out.logprobs >= 0) {
    out.prompt_logprobs = std::max(out.prompt_logprobs, out.logprobs);
  }
  out.sampling.logprobs = std::max(out.logprobs, out.prompt_logprobs);

  if (model.id_limit() < model.parts.vocab_size) {
    out.sampling.vocab_limit = static_cast<std::int32_t>(model.id_limit());
  }

  auto& stops = out.sampling.stop_tokens;
  auto& own = out.sampling.request_stop_tokens;
  stops.clear();
  own.clear();
  if (const auto wrong = engine::validate(out.sampling, model.id_limit())) {
    reject(wrong->field, wrong->message);
  }

  const auto add = [&](const std::vector<token_id>& ids) {
    stops.insert(stops.end(), ids.begin(), ids.end());
  };
  add(model.parts.eos);
  if (request.kind == prompt_kind::chat) {
    add(model.parts.tokenizer->turn_end_tokens());
  }
  const auto make_set = [](std::vector<token_id>& ids) {
    std::sort(ids.begin(), ids.end());
    ids.erase(std::unique(ids.begin(), ids.end()), ids.end());
  };
  own = request.stop_token_ids;
  make_set(own);
  make_set(stops);
  // Who names the model's own end wants it to end the text, ignore_eos or not.
  std::erase_if(stops, [&own](token_id id) {
    return std::binary_search(own.begin(), own.end(), id);
  });
}

}  // namespace

prepared_request prepare(const generation_request& request,
                         const serving& model) {
  prepared_request out;
  check_fields(request, model);
  fill_sampling(request, model, out);
  out.max_tokens = request.max_tokens;
  tokenise(request, model, out);
  check_length(request, model, out);
  return out;
}

submission make_submission(const generation_request& request,
                           const prepared_request& prepared) {
  submission out;
  out.request = request.id;
  out.choices.resize(static_cast<std::size_t>(request.n));
  for (std::size_t i = 0; i < out.choices.size(); ++i) {
    auto& start = out.choices[i];
    start.prompt = prepared.prompt;
    start.sampling = prepared.sampling;
    start.sampling.choice = static_cast<std::uint32_t>(i);
    start.max_tokens = prepared.max_tokens;
    // SCHEDULER's matcher sees no special tokens. Where the text shows them,
    // the choice alone decides, so that the two never differ.
    if (request.skip_special_tokens) {
      start.stop_strings = request.stop;
    }
    // The siblings share the first one's prompt and its log-probabilities.
    start.prompt_logprobs = i == 0 && prepared.prompt_logprobs >= 0;
    start.priority = request.priority;
    start.tenant = request.tenant;
    start.speculate = request.speculation.enabled;
  }
  return out;
}

failed describe(engine::rejection verdict, const std::string& id,
                std::int64_t prompt_tokens, const serving& model) {
  const auto count = std::to_string(prompt_tokens);
  switch (verdict) {
    case engine::rejection::queue_full:
      return {id, failure::queue_full, "the queue of requests is full", ""};
    case engine::rejection::queued_tokens_full:
      return {id, failure::queue_full,
              "the queue has no room for " + count + " more prompt tokens", ""};
    case engine::rejection::prompt_too_long:
      return {id, failure::context_length,
              "the model's context is " + std::to_string(model.limits.context) +
                  " tokens, but the prompt has " + count,
              "prompt"};
    case engine::rejection::prompt_larger_than_pool:
      return {id, failure::context_length,
              "the prompt has " + count +
                  " tokens, but the KV pool holds only " +
                  std::to_string(std::int64_t{model.limits.blocks} *
                                 kernels::kv_block_tokens),
              "prompt"};
    case engine::rejection::empty_prompt:
      return {id, failure::invalid, "the prompt has no tokens", "prompt"};
    case engine::rejection::none:
      break;
  }
  return {id, failure::internal, "the request was not admitted", ""};
}

}  // namespace vouch::actors
