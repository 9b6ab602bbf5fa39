// check_tensors refuses what load_model refuses, in the same words.

#include <filesystem>
#include <string>

#include <gtest/gtest.h>

#include "engine/checkpoint/checkpoint.hpp"
#include "engine/error.hpp"
#include "engine/models/model.hpp"
#include "tests/support/files.hpp"

namespace vouch {
namespace {

/// A checkpoint with one tensor gone or of another shape.
class damaged : public engine::checkpoint {
 public:
  explicit damaged(const std::filesystem::path& path)
      : source_{engine::open_checkpoint(path)} {}

  void hide(const std::string& name) {
    reshaped_ = {};
    hidden_ = name;
  }
  void reshape(const std::string& name) {
    hidden_.clear();
    reshaped_ = *source_->find(name);
    ++reshaped_.shape.front();
  }

  const std::filesystem::path& path() const override { return source_->path(); }
  std::string_view container() const override { return source_->container(); }
  const engine::model_config& config() const override {
    return source_->config();
  }
  const engine::generation_defaults& defaults() const override {
    return source_->defaults();
  }
  std::vector<engine::tensor_view> tensors() const override {
    return source_->tensors();
  }
  const engine::tensor_view* find(std::string_view name) const override {
    if (name == hidden_) return nullptr;
    return name == reshaped_.name ? &reshaped_ : source_->find(name);
  }
  const std::byte* ordered_rows(
      const engine::tensor_view& tensor,
      std::vector<std::byte>& storage) const override {
    return source_->ordered_rows(tensor, storage);
  }
  std::vector<engine::token_id> eos_tokens() const override {
    return source_->eos_tokens();
  }
  std::string chat_template() const override { return {}; }
  std::string default_name() const override { return "damaged"; }
  std::string fingerprint() const override { return {}; }

 private:
  std::shared_ptr<engine::checkpoint> source_;
  std::string hidden_;
  engine::tensor_view reshaped_;
};

template <class Action>
std::string error_of(Action action) {
  try {
    action();
  } catch (const engine::input_error& error) {
    return error.what();
  }
  return "no error";
}

void expect_same_verdicts(const std::string& fixture) {
  kernels::thread_pool pool{1};
  const auto source = std::make_shared<damaged>(test::fixture(fixture));
  const auto same = [&](const std::string& expected_part) {
    const auto check = error_of([&] { engine::check_tensors(*source); });
    EXPECT_EQ(check, error_of([&] { engine::load_model(*source, pool); }));
    EXPECT_NE(check.find(expected_part), std::string::npos) << check;
  };
  same("no error");
  for (const auto& tensor : source->tensors()) {
    source->hide(tensor.name);
    same("'" + tensor.name + "' is missing");
    source->reshape(tensor.name);
    same("'" + tensor.name + "' has the shape");
  }
}

TEST(TensorCheck, AgreesWithTheLoad) {
  for (const auto* fixture :
       {"llama_golden/default", "llama_golden/untied_bias",
        "llama_golden/q4_k.gguf", "mistral_golden"}) {
    SCOPED_TRACE(fixture);
    expect_same_verdicts(fixture);
  }
}

}  // namespace
}  // namespace vouch
