#include <utility>

#include <spdlog/fmt/fmt.h>

#include "http/error.hpp"
#include "http/json_document.hpp"
#include "http/schema_parts.hpp"
#include "http/text.hpp"

namespace vouch::http {

namespace dom = simdjson::dom;

namespace {

// Copies of `base`, one per prompt.
class prompt_reader {
 public:
  prompt_reader(const schema_context& context,
                const actors::generation_request& base,
                std::vector<actors::generation_request>& out)
      : context_{context}, base_{base}, out_{out} {}

  void read(dom::element prompt) {
    if (prompt.is_string()) return add_text(prompt);
    dom::array list;
    if (prompt.get(list)) wrong("prompt", prompt);
    if (list.size() == 0)
      throw bad_field("prompt", "expected at least one string or token id");
    const auto first = list.at(0).value_unsafe();
    if (first.is_number()) return add_tokens(list, "prompt");
    if (list.size() > max_prompts) {
      throw bad_field("prompt", fmt::format("expected at most {} prompts, "
                                            "given {}",
                                            max_prompts, list.size()));
    }
    // They are queued together, so a longer list would be refused for ever.
    // The choices of a prompt (n) take one place.
    const auto places = static_cast<std::size_t>(context_.max_queued_requests);
    if (list.size() > places) {
      throw bad_field(
          "prompt",
          fmt::format("expected at most {} prompts (limits.max_queued_requests "
                      "of the server's policy), given {}",
                      places, list.size()));
    }
    for (const auto element : list) {
      const auto path = fmt::format("prompt[{}]", out_.size());
      if (element.type() != first.type()) {
        expected(path,
                 "what the entries before it are (" + type_name(first) + ")",
                 element);
      }
      dom::array ids;
      if (element.is_string()) {
        add_text(element);
      } else if (!element.get(ids)) {
        add_tokens(ids, path);
      } else {
        wrong(path, element);
      }
    }
  }

 private:
  [[noreturn]] static void wrong(const std::string& path, dom::element given) {
    expected(path,
             "a string, a list of strings, a list of token ids or a list of "
             "those lists",
             given);
  }

  void add_text(dom::element text) {
    auto request = base_;
    request.kind = actors::prompt_kind::text;
    request.text = std::string{text.get_string().value_unsafe()};
    out_.push_back(std::move(request));
  }

  void add_tokens(dom::array ids, const std::string& path) {
    if (ids.size() == 0)
      throw bad_field(path, "expected at least one token id");
    auto request = base_;
    request.kind = actors::prompt_kind::tokens;
    request.tokens = token_ids(ids, path, context_.model.vocab_size);
    out_.push_back(std::move(request));
  }

  const schema_context& context_;
  const actors::generation_request& base_;
  std::vector<actors::generation_request>& out_;
};

}  // namespace

generation_job parse_completion(std::string_view body,
                                const schema_context& context) {
  const auto& server = context.settings.server;
  request_fields fields{body, context};
  generation_job job;
  job.kind = generation_kind::completion;
  const auto prompt = fields.any("prompt");
  if (!prompt) throw bad_field("prompt", "is required");

  actors::generation_request base;
  read_common(fields, context, job, base);
  if (base.max_tokens < 0) {
    base.max_tokens = default_completion_tokens;
    if (base.sampling.min_tokens > base.max_tokens) {
      throw bad_field(
          "min_tokens",
          fmt::format("{} is more than max_tokens, which is {} where the "
                      "request does not give it",
                      base.sampling.min_tokens, base.max_tokens));
    }
  }
  base.echo = fields.boolean("echo").value_or(false);
  job.echo = base.echo;
  if (base.max_tokens == 0 && !base.echo) {
    throw bad_field("max_tokens",
                    "expected at least 1, given 0 (0 needs echo: true)");
  }
  if (const auto top = fields.integer("logprobs", 0, server.max_top_logprobs)) {
    base.sampling.logprobs = static_cast<int>(*top);
    job.logprobs = true;
    job.echo_top = static_cast<std::size_t>(*top);
    // The prompt's tokens are part of an echoed answer's log-probabilities.
    if (base.echo && base.prompt_logprobs < *top)
      base.prompt_logprobs = static_cast<std::int32_t>(*top);
  }
  base.add_special_tokens = fields.boolean("add_special_tokens").value_or(true);
  if (const auto best_of = fields.any("best_of")) {
    std::int64_t value = 0;
    if (best_of->get(value) || value != 1)
      expected("best_of", "1 (choosing the best of several is not built)",
               *best_of);
  }
  if (const auto suffix = fields.string("suffix"); suffix && !suffix->empty())
    throw not_built_field("suffix", "filling in before a suffix");
  refuse_not_built(fields);
  fields.reject_unknown();
  prompt_reader{context, base, job.requests}.read(*prompt);
  return job;
}

tokenize_job parse_tokenize(std::string_view body,
                            const schema_context& context) {
  request_fields fields{body, context};
  tokenize_job job;
  const auto prompt = fields.string("prompt");
  const auto content = fields.string("content");
  if (!prompt && !content) throw bad_field("prompt", "is required");
  if (prompt && content)
    throw bad_field("content", "is not allowed beside prompt");
  job.text = prompt ? *prompt : *content;
  job.add_special_tokens = fields.boolean("add_special_tokens").value_or(true);
  job.parse_special = fields.boolean("parse_special").value_or(true);
  job.with_pieces = fields.boolean("return_token_strs").value_or(false);
  fields.reject_unknown();
  return job;
}

detokenize_job parse_detokenize(std::string_view body,
                                const schema_context& context) {
  request_fields fields{body, context};
  detokenize_job job;
  const auto tokens = fields.array("tokens");
  if (!tokens) throw bad_field("tokens", "is required");
  job.tokens = token_ids(*tokens, "tokens", context.model.vocab_size);
  job.skip_special_tokens =
      fields.boolean("skip_special_tokens").value_or(false);
  fields.reject_unknown();
  return job;
}

}  // namespace vouch::http
