#include "engine/checkpoint/dequantized.hpp"

#include <cstring>
#include <utility>

#include "engine/checkpoint/tensor_index.hpp"
#include "kernels/dequantize.hpp"

namespace vouch::engine {

namespace {

class dequantized_checkpoint final : public checkpoint {
 public:
  explicit dequantized_checkpoint(std::shared_ptr<const checkpoint> source)
      : source_{std::move(source)} {
    std::vector<tensor_view> views;
    for (auto view : source_->tensors()) {
      std::vector<std::byte> moved;
      const auto* rows = source_->ordered_rows(view, moved);
      std::int64_t elements = 1;
      for (const auto dimension : view.shape) elements *= dimension;
      auto& values = values_.emplace_back(static_cast<std::size_t>(elements));
      kernels::dequantize(view.type, rows, elements, values.data());
      view.type = kernels::dtype::f32;
      view.data = reinterpret_cast<const std::byte*>(values.data());
      view.bytes = values.size() * sizeof(float);
      views.push_back(std::move(view));
    }
    tensors_ = tensor_index{std::move(views)};
  }

  const std::filesystem::path& path() const override { return source_->path(); }
  std::string_view container() const override { return source_->container(); }
  const model_config& config() const override { return source_->config(); }
  const generation_defaults& defaults() const override {
    return source_->defaults();
  }
  std::vector<tensor_view> tensors() const override { return tensors_.all(); }
  const tensor_view* find(std::string_view name) const override {
    return tensors_.find(name);
  }
  const std::byte* ordered_rows(
      const tensor_view& tensor,
      std::vector<std::byte>& /*storage*/) const override {
    return tensor.data;
  }
  std::vector<token_id> eos_tokens() const override {
    return source_->eos_tokens();
  }
  std::string chat_template() const override {
    return source_->chat_template();
  }
  std::string default_name() const override { return source_->default_name(); }
  std::string fingerprint() const override { return source_->fingerprint(); }

 private:
  std::shared_ptr<const checkpoint> source_;
  /// Moving the outer vector keeps the inner ones where they are.
  std::vector<std::vector<float>> values_;
  tensor_index tensors_;
};

}  // namespace

std::shared_ptr<checkpoint> dequantize(
    std::shared_ptr<const checkpoint> source) {
  return std::make_shared<dequantized_checkpoint>(std::move(source));
}

}  // namespace vouch::engine
