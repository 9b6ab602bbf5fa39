#include <cstdio>
#include <iostream>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include <boost/json.hpp>

#include "cli/commands.hpp"
#include "engine/chat_template/chat_template.hpp"
#include "engine/checkpoint/checkpoint.hpp"
#include "engine/error.hpp"
#include "engine/models/model.hpp"
#include "engine/tokenizer/tokenizer.hpp"
#include "kernels/kv_layout.hpp"

namespace vouch::cli {

namespace json = boost::json;

namespace {

struct options {
  std::string model;
  bool as_json = false;
  bool tensors = false;
};

/// How many tensors of a type there are, and what they weigh.
struct type_share {
  std::int64_t tensors = 0;
  std::uint64_t parameters = 0;
  std::uint64_t bytes = 0;
};

json::object describe_config(const engine::model_config& config) {
  return {
      {"family", config.family},
      {"vocab_size", config.vocab_size},
      {"hidden_size", config.hidden_size},
      {"intermediate_size", config.intermediate_size},
      {"layers", config.layers},
      {"heads", config.heads},
      {"kv_heads", config.kv_heads},
      {"head_dim", config.head_dim},
      {"rms_norm_eps", config.rms_norm_eps},
      {"max_position", config.max_position},
      {"rope_theta", config.rope_theta},
      {"tied_head", config.tied_head},
  };
}

json::object describe_tokenizer(const engine::tokenizer& tokens,
                                const std::vector<engine::token_id>& eos) {
  const auto named = [&tokens](std::optional<engine::token_id> id) {
    return id ? json::value(tokens.token_text(*id)) : json::value(nullptr);
  };
  json::array ends;
  for (const auto id : eos) {
    ends.push_back({{"id", id}, {"text", json::value(tokens.token_text(id))}});
  }
  return {
      {"size", tokens.size()},
      {"bos", named(tokens.bos())},
      {"eos", named(tokens.eos())},
      {"pad", named(tokens.pad())},
      {"end_of_generation", std::move(ends)},
  };
}

json::object describe_weights(const std::vector<engine::tensor_view>& tensors,
                              bool each) {
  std::map<std::string, type_share> shares;
  std::uint64_t parameters = 0;
  std::uint64_t bytes = 0;
  json::array list;
  for (const auto& tensor : tensors) {
    std::uint64_t elements = 1;
    for (const auto dimension : tensor.shape) {
      elements *= static_cast<std::uint64_t>(dimension);
    }
    const std::string type{kernels::traits(tensor.type).name};
    auto& share = shares[type];
    ++share.tensors;
    share.parameters += elements;
    share.bytes += tensor.bytes;
    parameters += elements;
    bytes += tensor.bytes;
    if (each) {
      list.push_back({{"name", tensor.name},
                      {"type", type},
                      {"shape", json::value_from(tensor.shape)},
                      {"bytes", tensor.bytes}});
    }
  }
  json::object types;
  for (const auto& [type, share] : shares) {
    types[type] = {{"tensors", share.tensors},
                   {"parameters", share.parameters},
                   {"bytes", share.bytes}};
  }
  json::object out{{"tensors", tensors.size()},
                   {"parameters", parameters},
                   {"bytes", bytes},
                   {"types", std::move(types)}};
  if (each) {
    out["list"] = std::move(list);
  }
  return out;
}

/// What a server would refuse, as its errors say it.
class problem_list {
 public:
  template <class Use>
  void collect(Use use) {
    try {
      use();
    } catch (const engine::input_error& error) {
      texts_.emplace_back(error.what());
    }
  }
  const std::vector<std::string>& texts() const { return texts_; }

 private:
  std::vector<std::string> texts_;
};

void check_template(const engine::checkpoint& model) {
  if (const auto source = model.chat_template(); !source.empty()) {
    const engine::chat_template parsed{
        source, model.path().string() + ": chat template"};
  }
}

json::object describe(const engine::checkpoint& model, bool tensors,
                      problem_list& problems) {
  const auto& config = model.config();
  const auto per_token = [&config](kernels::dtype type) {
    const kernels::kv_layout layout{config.kv_heads, config.head_dim, type};
    return layout.block_bytes() / kernels::kv_block_tokens *
           static_cast<std::size_t>(config.layers);
  };
  json::object out{
      {"path", model.path().string()},
      {"container", std::string{model.container()}},
      {"name", model.default_name()},
      {"fingerprint", model.fingerprint()},
      {"config", describe_config(config)},
      {"weights", describe_weights(model.tensors(), tensors)},
      {"kv_bytes_per_token",
       {{"f16", per_token(kernels::dtype::f16)},
        {"f32", per_token(kernels::dtype::f32)}}},
      {"chat_template_bytes", model.chat_template().size()},
  };
  out["tokenizer"] = nullptr;
  problems.collect([&] {
    const auto tokens = engine::load_tokenizer(model.path());
    out["tokenizer"] = describe_tokenizer(*tokens, model.eos_tokens());
  });
  problems.collect([&] { engine::check_tensors(model); });
  problems.collect([&] { check_template(model); });
  if (!problems.texts().empty()) {
    out["problems"] = json::value_from(problems.texts());
  }
  return out;
}

/// "key: value" lines, nested objects indented.
void print_text(const json::object& object, int indent) {
  for (const auto& [key, value] : object) {
    const std::string margin(static_cast<std::size_t>(indent), ' ');
    std::cout << margin << std::string_view{key.data(), key.size()} << ":";
    if (value.is_object()) {
      std::cout << '\n';
      print_text(value.get_object(), indent + 2);
    } else if (value.is_string()) {
      std::cout << ' ' << value.get_string().c_str() << '\n';
    } else if (value.is_array()) {
      std::cout << '\n';
      for (const auto& entry : value.get_array()) {
        std::cout << margin << "  " << json::serialize(entry) << '\n';
      }
    } else {
      std::cout << ' ' << json::serialize(value) << '\n';
    }
  }
}

int run(const options& chosen) {
  const auto model = engine::open_checkpoint(chosen.model);
  problem_list problems;
  const auto description = describe(*model, chosen.tensors, problems);
  if (chosen.as_json) {
    std::cout << json::serialize(description) << '\n';
  } else {
    print_text(description, 0);
  }
  // What could be read is shown; the model still cannot be used.
  for (const auto& text : problems.texts()) {
    std::cerr << "vouch: " << text << '\n';
  }
  return problems.texts().empty() ? exit_ok : exit_usage;
}

}  // namespace

void add_inspect(CLI::App& app, action& chosen) {
  auto* command = app.add_subcommand(
      "inspect", "What a model file holds: shape, weights, tokenizer, cost.");
  auto picked = std::make_shared<options>();
  command
      ->add_option("-m,--model,model", picked->model,
                   "GGUF file or folder of safetensors")
      ->required();
  command->add_flag("--json", picked->as_json, "One JSON object");
  command->add_flag("--tensors", picked->tensors, "Every tensor too");
  command->callback(
      [&chosen, picked] { chosen = [picked] { return run(*picked); }; });
}

}  // namespace vouch::cli
