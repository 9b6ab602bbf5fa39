// Files that cannot be used: every error names file and field.
#include <gmock/gmock.h>

#include "tests/engine/tokenizer/support.hpp"

namespace vouch::engine {
namespace {

using testing::HasSubstr;

/// The message of the input_error that loading throws.
std::string error_of(const std::filesystem::path& path) {
  try {
    load_tokenizer(path);
  } catch (const input_error& error) {
    return error.what();
  }
  return "no error";
}

std::string with_model(const std::string& model, const std::string& more = "") {
  return R"({"model":)" + model + more + "}";
}

const std::string good_model =
    R"({"type":"BPE","vocab":{"a":0,"b":1,"ab":2},"merges":["a b"]})";

struct bad_case {
  std::string text;
  std::string says;
};

TEST(MalformedTokenizerJson, NamesFileAndField) {
  const auto step = [&](const std::string& json) {
    return R"({"model":)" + good_model + "," + json + "}";
  };
  const std::vector<bad_case> cases = {
      {"", "is not valid JSON"},
      {"{", "is not valid JSON"},
      {"[1]", "must be an object"},
      {"{}", "model: is missing"},
      {with_model("3"), "model: must be an object"},
      {with_model(R"({"type":"Unigram","vocab":{"a":0},"merges":[]})"),
       "model.type: 'Unigram' is not supported"},
      {with_model(R"({"type":"BPE","merges":[]})"), "model.vocab: is missing"},
      {with_model(R"({"vocab":{},"merges":[]})"), "model.vocab: is empty"},
      {with_model(R"({"vocab":{"a":"x"},"merges":[]})"),
       "model.vocab: the id of 'a' is no integer"},
      {with_model(R"({"vocab":{"a":-1},"merges":[]})"), "out of range"},
      {with_model(R"({"vocab":{"a":4000000000},"merges":[]})"),
       "model.vocab: token id 4000000000 is out of range"},
      {with_model(R"({"vocab":{"a":0,"b":0},"merges":[]})"),
       "'a' and 'b' are both token 0"},
      {with_model(R"({"vocab":{"a":0},"merges":7})"),
       "model.merges: must be an array"},
      {with_model(R"({"vocab":{"a":0},"merges":["a"]})"),
       "model.merges: entry 0: is not two tokens"},
      {with_model(R"({"vocab":{"a":0},"merges":[""]})"), "entry 0"},
      {with_model(R"({"vocab":{"a":0},"merges":[["a"]]})"),
       "entry 0: is not a pair"},
      {with_model(R"({"vocab":{"a":0},"merges":["a b"]})"),
       "entry 0: 'b' is not in the vocabulary"},
      {with_model(R"({"vocab":{"a":0},"merges":["a a"]})"),
       "'aa' is not in the vocabulary"},
      {with_model(R"({"vocab":{"a":0},"merges":[],"dropout":0.1})"),
       "model.dropout"},
      {with_model(R"({"vocab":{"a":0},"merges":[],"unk_token":"u"})"),
       "model.unk_token: is not in the vocabulary"},
      {with_model(R"({"vocab":{"a":0},"merges":[],"end_of_word_suffix":"w"})"),
       "model.end_of_word_suffix"},
      {step(R"("normalizer":{"type":"Nmt"})"),
       "normalizer.type: 'Nmt' is not supported"},
      {step(R"("normalizer":{"type":"Sequence","normalizers":[{"type":"NFC"},
               {"type":"X"}]})"),
       "normalizer.normalizers[1].type: 'X'"},
      {step(R"("normalizer":{"type":"Replace","pattern":{"Regex":"("},
               "content":""})"),
       "normalizer.pattern.Regex: regular expression"},
      {step(R"("pre_tokenizer":{"type":"Sequence","pretokenizers":[
               {"type":"Split","pattern":{"String":""},
                "behavior":"Isolated"}]})"),
       "pre_tokenizer.pretokenizers[0].pattern.String: must not be empty"},
      {step(R"("pre_tokenizer":{"type":"Split","pattern":{"Regex":"a"},
               "behavior":"Odd"})"),
       "pre_tokenizer.behavior: 'Odd'"},
      {step(R"("pre_tokenizer":{"type":"Sequence","pretokenizers":[
               {"type":"ByteLevel"},{"type":"Digits"}]})"),
       "pre_tokenizer.pretokenizers[1]: nothing may follow ByteLevel"},
      {step(R"("pre_tokenizer":{"type":"UnicodeScripts"})"),
       "pre_tokenizer.type: 'UnicodeScripts'"},
      {step(R"("decoder":{"type":"WordPiece"})"), "decoder.type: 'WordPiece'"},
      {step(R"("post_processor":{"type":"BertProcessing"})"),
       "post_processor.type: 'BertProcessing'"},
      {step(R"("post_processor":{"type":"TemplateProcessing","single":[
               {"SpecialToken":{"id":"<s>"}},{"Sequence":{"id":"A"}}],
               "special_tokens":{"<s>":{"ids":[99]}}})"),
       "post_processor.special_tokens.<s>.ids[0]: there is no token 99"},
      {step(R"("added_tokens":[{"id":5}])"),
       "added_tokens[0].content: is missing"},
      {step(R"("added_tokens":[{"id":99999999,"content":"x"}])"),
       "added_tokens[0].id: token id 99999999 is out of range"},
  };
  const test::scratch_folder folder;
  for (const bad_case& bad : cases) {
    const auto file = folder.write("tokenizer.json", bad.text);
    const std::string message = error_of(file);
    EXPECT_THAT(message, HasSubstr(file.string() + ": ")) << bad.text;
    EXPECT_THAT(message, HasSubstr(bad.says)) << bad.text;
  }
}

TEST(MalformedTokenizerJson, NeverCrashesOnCutOrChangedFiles) {
  const std::string good =
      test::read_file(test::fixture("tokenizers/llama3_like.json"));
  const test::scratch_folder folder;
  std::mt19937 rng{11};
  int refused = 0;
  for (int round = 0; round < 400; ++round) {
    std::string text = good;
    if (round % 2) {
      text.resize(rng() % text.size());
    } else {
      for (int i = 0; i < 3; ++i) {
        text[rng() % text.size()] = "0{}[],:\"ax\\"[rng() % 11];
      }
    }
    const auto file = folder.write("tokenizer.json", text);
    try {
      load_tokenizer(file)->encode("The quick <|eot_id|> 123", {});
    } catch (const input_error&) {
      ++refused;
    }
  }
  EXPECT_GE(refused, 200);
}

TEST(MalformedTokenizer, MissingFilesAreNamed) {
  const test::scratch_folder folder;
  EXPECT_THAT(error_of(folder.path()), HasSubstr("no tokenizer.json"));
  EXPECT_THAT(error_of(folder.path() / "x.gguf"), HasSubstr("x.gguf: no such"));
  const auto text = folder.write("x.gguf", "not a gguf file");
  EXPECT_THAT(error_of(text), HasSubstr("x.gguf"));
}

TEST(TokenizerFolder, TakesRolesFromTheConfiguration) {
  const test::scratch_folder folder;
  folder.write("tokenizer.json",
               test::read_file(test::fixture("tokenizers/llama3_like.json")));
  folder.write("tokenizer_config.json",
               R"({"bos_token":"<|begin_of_text|>",
                   "eos_token":{"content":"<|eot_id|>"},"pad_token":null})");
  const auto model = load_tokenizer(folder.path());
  EXPECT_EQ(model->bos(), model->find("<|begin_of_text|>"));
  EXPECT_EQ(model->eos(), model->find("<|eot_id|>"));
  EXPECT_EQ(model->pad(), std::nullopt);
  EXPECT_EQ(model->turn_end_tokens(),
            std::vector<token_id>{model->find("<|eot_id|>").value()});
  folder.write("tokenizer_config.json", R"({"bos_token":7})");
  EXPECT_THAT(error_of(folder.path()),
              HasSubstr("tokenizer_config.json: bos_token: must be a string"));
}

// A GGUF file of metadata alone, written here.
class gguf_writer {
 public:
  gguf_writer& text(const std::string& key, const std::string& value) {
    begin(key, 8);
    string(value);
    return *this;
  }
  gguf_writer& texts(const std::string& key,
                     const std::vector<std::string>& values) {
    begin(key, 9);
    put<std::uint32_t>(8);
    put<std::uint64_t>(values.size());
    for (const std::string& value : values) string(value);
    return *this;
  }
  gguf_writer& ints(const std::string& key,
                    const std::vector<std::int32_t>& values) {
    begin(key, 9);
    put<std::uint32_t>(5);
    put<std::uint64_t>(values.size());
    for (const std::int32_t value : values) put(value);
    return *this;
  }
  gguf_writer& number(const std::string& key, std::uint32_t value) {
    begin(key, 4);
    put(value);
    return *this;
  }
  std::string bytes() const {
    gguf_writer head;
    head.body_ = "GGUF";
    head.put<std::uint32_t>(3);
    head.put<std::uint64_t>(0);
    head.put<std::uint64_t>(count_);
    return head.body_ + body_;
  }

 private:
  template <class T>
  void put(T value) {
    body_.append(reinterpret_cast<const char*>(&value), sizeof value);
  }
  void string(const std::string& value) {
    put<std::uint64_t>(value.size());
    body_ += value;
  }
  void begin(const std::string& key, std::uint32_t type) {
    string("tokenizer.ggml." + key);
    put(type);
    ++count_;
  }

  std::string body_;
  std::uint64_t count_ = 0;
};

TEST(MalformedGgufTokenizer, NamesFileAndKey) {
  using w = gguf_writer;
  const std::vector<bad_case> cases = {
      {w{}.bytes(), "tokenizer.ggml.model"},
      {w{}.text("model", "t5").bytes(), "tokenizer.ggml.model: not supported"},
      {w{}.text("model", "gpt2").text("pre", "odd").bytes(),
       "tokenizer.ggml.pre: not supported: odd"},
      {w{}.text("model", "gpt2").text("pre", "gpt-2").bytes(),
       "tokenizer.ggml.tokens"},
      {w{}.text("model", "gpt2").texts("tokens", {"a", "b"}).bytes(),
       "tokenizer.ggml.merges"},
      {w{}.text("model", "gpt2")
           .texts("tokens", {"a", "b"})
           .texts("merges", {"a b"})
           .bytes(),
       "tokenizer.ggml.merges: entry 0"},
      {w{}.text("model", "gpt2")
           .texts("tokens", {"a", "b"})
           .texts("merges", {"a"})
           .bytes(),
       "tokenizer.ggml.merges: entry 0"},
      {w{}.text("model", "gpt2")
           .texts("tokens", {"a", "\xFF"})
           .texts("merges", {"a b"})
           .bytes(),
       "tokenizer.ggml.tokens: entry 1 is not valid UTF-8"},
      {w{}.text("model", "llama").texts("tokens", {"a"}).bytes(),
       "tokenizer.ggml.scores: has 0 entries for 1 tokens"},
      {w{}.text("model", "llama")
           .texts("tokens", {"a"})
           .ints("token_type", {1, 1})
           .bytes(),
       "tokenizer.ggml.token_type: has 2 entries for 1 tokens"},
      {w{}.text("model", "llama")
           .texts("tokens", {"a"})
           .ints("token_type", {9})
           .bytes(),
       "tokenizer.ggml.token_type: entry 0 is 9"},
      {w{}.text("model", "llama")
           .texts("tokens", {"a"})
           .ints("token_type", {6})
           .bytes(),
       "tokenizer.ggml.tokens: byte token 0"},
      {w{}.text("model", "gpt2")
           .texts("tokens", {"a", "b", "ab"})
           .texts("merges", {"a b"})
           .number("bos_token_id", 3)
           .bytes(),
       "tokenizer.ggml.bos_token_id: there is no token 3"},
  };
  const test::scratch_folder folder;
  for (const bad_case& bad : cases) {
    const auto file = folder.write("bad.gguf", bad.text);
    const std::string message = error_of(file);
    EXPECT_THAT(message, HasSubstr("bad.gguf: ")) << bad.says;
    EXPECT_THAT(message, HasSubstr(bad.says));
  }
}

TEST(GgufTokenizer, WithoutAPreTokenizerWarns) {
  const test::scratch_folder folder;
  const auto file =
      folder.write("small.gguf", gguf_writer{}
                                     .text("model", "gpt2")
                                     .texts("tokens", {"a", "b", "ab"})
                                     .texts("merges", {"a b"})
                                     .bytes());
  const auto model = load_tokenizer(file);
  EXPECT_THAT(std::string{model->warning()}, HasSubstr("tokenizer.ggml.pre"));
  EXPECT_EQ(model->encode("abba", test::plain()),
            (std::vector<token_id>{2, 1, 0}));
}

}  // namespace
}  // namespace vouch::engine
