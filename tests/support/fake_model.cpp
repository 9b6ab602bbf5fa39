#include "tests/support/fake_model.hpp"

#include <array>
#include <string>

namespace vouch::test {
namespace {

using engine::token_id;

constexpr std::array<std::string_view, 3> specials{"<s>", "<|im_start|>",
                                                   "<|im_end|>"};

class byte_tokenizer final : public engine::tokenizer {
 public:
  byte_tokenizer() {
    for (int i = 0; i < 256; ++i) {
      bytes_[static_cast<std::size_t>(i)] = static_cast<char>(i);
    }
  }

  std::vector<token_id> encode(
      std::string_view text,
      const engine::encode_options& options) const override {
    return encode({{std::string{text}, true}}, options);
  }

  std::vector<token_id> encode(
      const std::vector<engine::text_span>& spans,
      const engine::encode_options& options) const override {
    std::vector<token_id> out;
    if (options.add_special_tokens) {
      out.push_back(fake_bos);
    }
    for (const auto& span : spans) {
      std::string_view rest = span.text;
      while (!rest.empty()) {
        const auto special =
            span.trusted && options.parse_special ? starts(rest) : -1;
        if (special >= 0) {
          out.push_back(fake_bos + special);
          rest.remove_prefix(
              specials[static_cast<std::size_t>(special)].size());
        } else {
          out.push_back(static_cast<unsigned char>(rest.front()));
          rest.remove_prefix(1);
        }
      }
    }
    return out;
  }

  std::string_view token_bytes(token_id token) const override {
    if (token >= 0 && token < 256) {
      return {&bytes_[static_cast<std::size_t>(token)], 1};
    }
    if (token >= fake_bos && token < fake_vocab) {
      return specials[static_cast<std::size_t>(token - fake_bos)];
    }
    return {};
  }
  std::string token_text(token_id token) const override {
    return std::string{token_bytes(token)};
  }
  bool is_special(token_id token) const override { return token >= fake_bos; }
  std::optional<token_id> find(std::string_view text) const override {
    for (token_id i = 0; i < fake_vocab; ++i) {
      if (token_bytes(i) == text) {
        return i;
      }
    }
    return std::nullopt;
  }
  std::int32_t size() const override { return fake_vocab; }
  std::optional<token_id> bos() const override { return fake_bos; }
  std::optional<token_id> eos() const override { return fake_turn_end; }
  std::optional<token_id> pad() const override { return std::nullopt; }
  std::vector<token_id> turn_end_tokens() const override {
    return {fake_turn_end};
  }

 private:
  static int starts(std::string_view text) {
    for (std::size_t i = 0; i < specials.size(); ++i) {
      if (text.substr(0, specials[i].size()) == specials[i]) {
        return static_cast<int>(i);
      }
    }
    return -1;
  }

  std::array<char, 256> bytes_{};
};

}  // namespace

std::shared_ptr<const engine::tokenizer> make_byte_tokenizer() {
  return std::make_shared<byte_tokenizer>();
}

runtime::components make_fake_components(fake_executor_options options,
                                         const std::string& chat_template) {
  runtime::components out;
  out.parts.tokenizer = make_byte_tokenizer();
  if (!chat_template.empty()) {
    out.parts.chat_template =
        std::make_shared<engine::chat_template>(chat_template, "fake template");
  }
  out.parts.eos = {fake_turn_end};
  out.parts.vocab_size = fake_vocab;
  out.info.name = "fake";
  out.info.path = "fake.gguf";
  out.info.vocab_size = fake_vocab;
  out.info.max_context = options.limits.context;
  out.info.has_chat_template = !chat_template.empty();
  out.info.fingerprint = "vouch-test-fake";
  out.parts.make_executor = [options = std::move(options)] {
    return make_fake_executor(options);
  };
  return out;
}

}  // namespace vouch::test
