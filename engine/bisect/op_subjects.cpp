// The kernels that a forward pass is made of, one at a time.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <numeric>
#include <random>
#include <stdexcept>

#include "engine/bisect/op_runs.hpp"
#include "kernels/activations.hpp"
#include "kernels/attention.hpp"
#include "kernels/float16.hpp"
#include "kernels/kv_write.hpp"
#include "kernels/matmul.hpp"
#include "kernels/quant_block.hpp"
#include "kernels/quantize_row.hpp"
#include "kernels/rope.hpp"

namespace vouch::engine {
namespace {

using kernels::dtype;

constexpr std::array weight_types{dtype::f32,  dtype::f16,  dtype::bf16,
                                  dtype::q8_0, dtype::q4_0, dtype::q4_1,
                                  dtype::q5_0, dtype::q5_1, dtype::q4_k,
                                  dtype::q5_k, dtype::q6_k};
/// Rows that a run numbers.
constexpr std::int64_t positions = 64;

std::vector<float> normal_floats(std::int64_t n, std::uint64_t seed,
                                 float spread) {
  std::mt19937_64 random{seed};
  std::normal_distribution<float> normal{0.0F, spread};
  std::vector<float> out(static_cast<std::size_t>(n));
  for (auto& each : out) each = normal(random);
  return out;
}

/// Rows of a weight of any type: every bit pattern of the quantised values,
/// scales of a usual size.
std::vector<std::byte> weight_rows(dtype type, std::int64_t rows,
                                   std::int64_t in, std::uint64_t seed) {
  std::mt19937_64 random{seed};
  std::normal_distribution<float> normal{0.0F, 0.05F};
  const auto bytes =
      static_cast<std::size_t>(rows) * kernels::row_bytes(type, in);
  std::vector<std::byte> out(bytes);
  if (!kernels::is_quantized(type)) {
    const auto size = kernels::row_bytes(type, 1);
    for (std::size_t at = 0; at < bytes; at += size) {
      const float value = normal(random);
      const std::uint16_t half = type == dtype::f16
                                     ? kernels::f32_to_f16(value)
                                     : kernels::f32_to_bf16(value);
      std::memcpy(out.data() + at,
                  type == dtype::f32 ? static_cast<const void*>(&value) : &half,
                  size);
    }
    return out;
  }
  for (auto& each : out) each = static_cast<std::byte>(random() & 0xFFU);
  const auto size = static_cast<std::size_t>(kernels::traits(type).block_bytes);
  const auto kind = kernels::quantization(type).kind;
  const bool two = kind == kernels::scale_kind::affine ||
                   kind == kernels::scale_kind::super_affine;
  for (std::size_t at = 0; at < bytes; at += size) {
    for (std::size_t k = 0; k < (two ? 2U : 1U); ++k) {
      const std::uint16_t half = kernels::f32_to_f16(normal(random));
      const auto place = type == dtype::q6_k ? size - 2 : 2 * k;
      std::memcpy(out.data() + at + place, &half, sizeof half);
    }
  }
  return out;
}

std::string matrix_text(std::int64_t out, std::int64_t in) {
  std::string text{"["};
  text += std::to_string(out);
  text += "][";
  text += std::to_string(in);
  text += "]";
  return text;
}

class matmul_subject final : public op_subject {
 public:
  matmul_subject(dtype type, std::int64_t out, std::int64_t in,
                 kernels::kernel_plan plan, kernels::thread_pool& pool)
      : type_{type}, out_{out}, in_{in}, pool_{pool} {
    const std::int64_t block = kernels::traits(type).block_elements;
    in_ = (in + block - 1) / block * block;
    input_.set_plan(plan);
  }
  std::string shape() const override {
    return std::string{kernels::traits(type_).name} + " " +
           matrix_text(out_, in_);
  }
  std::int64_t in() const override { return in_; }
  std::int64_t out_bytes() const override { return out_ * 4; }
  void draw(std::uint64_t seed) override {
    const auto rows = weight_rows(type_, out_, in_, seed);
    weights_ =
        kernels::packed_weights::pack(type_, rows.data(), out_, in_, pool_);
  }
  void run(std::int64_t first, std::int64_t rows, const float* x,
           std::byte* y) override {
    input_.assign(x + first * in_, rows, in_,
                  kernels::wants_quantized_activations(type_), pool_);
    made_.resize(static_cast<std::size_t>(rows * out_));
    kernels::matmul(weights_, input_, made_.data(), out_, pool_);
    std::memcpy(y, made_.data(), made_.size() * sizeof(float));
  }

 private:
  dtype type_;
  std::int64_t out_;
  std::int64_t in_;
  kernels::thread_pool& pool_;
  kernels::packed_weights weights_;
  kernels::activations input_;
  std::vector<float> made_;
};

/// What the matmuls read: norm or activation, as floats or in 8 bits.
class rows_subject final : public op_subject {
 public:
  rows_subject(bool norm, bool quantize, std::int64_t in,
               kernels::kernel_plan plan, kernels::thread_pool& pool)
      : norm_{norm}, quantize_{quantize}, in_{in}, pool_{pool} {
    output_.set_plan(plan);
  }
  std::string shape() const override {
    return std::string{quantize_ ? "in 8 bits [" : "f32 ["} +
           std::to_string(in_) + "]";
  }
  std::int64_t in() const override { return in_; }
  std::int64_t out_bytes() const override {
    if (!quantize_) return in_ * 4;
    return in_ / kernels::quant_block_elements *
           static_cast<std::int64_t>(sizeof(kernels::activation_block));
  }
  void draw(std::uint64_t seed) override {
    weight_ = normal_floats(in_, seed + 7, 1.0F);
    other_ = normal_floats(positions * in_, seed + 8, 1.0F);
  }
  void run(std::int64_t first, std::int64_t rows, const float* x,
           std::byte* y) override {
    const auto n = static_cast<std::size_t>(rows * in_);
    work_.assign(x + first * in_, x + first * in_ + rows * in_);
    const float* other = other_.data() + first * in_;
    if (norm_) {
      output_.assign_norm(work_.data(), other, weight_.data(), 1e-5F, rows, in_,
                          quantize_, pool_);
    } else {
      output_.assign_swiglu(work_.data(), other, rows, in_, quantize_, pool_);
    }
    if (quantize_) {
      std::memcpy(y, output_.blocks(),
                  static_cast<std::size_t>(rows * out_bytes()));
    } else {
      std::memcpy(y, output_.made(), n * sizeof(float));
    }
  }

 private:
  bool norm_;
  bool quantize_;
  std::int64_t in_;
  kernels::thread_pool& pool_;
  std::vector<float> weight_;
  std::vector<float> other_;
  std::vector<float> work_;
  kernels::activations output_;
};

class rope_subject final : public op_subject {
 public:
  rope_subject(int heads, int head_dim, std::int64_t base,
               kernels::thread_pool& pool)
      : heads_{heads}, head_dim_{head_dim}, base_{base}, pool_{pool} {
    std::vector<float> inverse;
    inverse.reserve(static_cast<std::size_t>(head_dim / 2));
    for (int i = 0; i < head_dim / 2; ++i) {
      inverse.push_back(std::pow(10'000.0F, -2.0F * static_cast<float>(i) /
                                                static_cast<float>(head_dim)));
    }
    table_ = kernels::rope_table{inverse, base + positions};
    at_.resize(positions);
    std::iota(at_.begin(), at_.end(), static_cast<std::int32_t>(base));
  }
  std::string shape() const override {
    return std::to_string(heads_) + " heads of " + std::to_string(head_dim_) +
           ", positions from " + std::to_string(base_);
  }
  std::int64_t in() const override { return std::int64_t{heads_} * head_dim_; }
  std::int64_t out_bytes() const override { return in() * 4; }
  void draw(std::uint64_t) override {}
  void run(std::int64_t first, std::int64_t rows, const float* x,
           std::byte* y) override {
    work_.assign(x + first * in(), x + (first + rows) * in());
    kernels::rope(work_.data(), in(), rows, heads_, head_dim_,
                  at_.data() + first, table_, pool_);
    std::memcpy(y, work_.data(), work_.size() * sizeof(float));
  }

 private:
  int heads_;
  int head_dim_;
  std::int64_t base_;
  kernels::thread_pool& pool_;
  kernels::rope_table table_;
  std::vector<std::int32_t> at_;
  std::vector<float> work_;
};

/// One sequence's K and V in scattered blocks.
class paged {
 public:
  paged(kernels::kv_layout layout, std::int64_t rows) : layout_{layout} {
    const auto blocks = static_cast<std::size_t>(
        (rows + kernels::kv_block_tokens - 1) / kernels::kv_block_tokens);
    table_.resize(blocks);
    std::iota(table_.rbegin(), table_.rend(), 0);
    memory_.resize(blocks * layout.block_bytes());
  }
  std::int64_t width() const {
    return std::int64_t{layout_.kv_heads} * layout_.head_dim;
  }
  kernels::attention_rows rows(std::int64_t first, std::int64_t count) const {
    return {table_.data(), 0, count, first};
  }
  void write(std::int64_t first, std::int64_t count, const float* k,
             const float* v, std::int64_t stride, kernels::thread_pool& pool) {
    const auto piece = rows(first, count);
    kernels::kv_write(layout_, memory_.data(), {&piece, 1}, k, v, stride, pool);
  }
  void read(std::int64_t position, std::byte* y) const {
    const auto bytes = kernels::row_bytes(layout_.type, width());
    kernels::kv_read(layout_, memory_.data(), table_.data(), position, y,
                     y + bytes);
  }
  const kernels::kv_layout& layout() const { return layout_; }
  const std::byte* memory() const { return memory_.data(); }

 private:
  kernels::kv_layout layout_;
  std::vector<std::int32_t> table_;
  std::vector<std::byte> memory_;
};

class kv_write_subject final : public op_subject {
 public:
  kv_write_subject(kernels::kv_layout layout, kernels::thread_pool& pool)
      : kv_{layout, positions}, pool_{pool} {}
  std::string shape() const override {
    return std::string{kernels::traits(kv_.layout().type).name} + " " +
           std::to_string(kv_.layout().kv_heads) + " heads of " +
           std::to_string(kv_.layout().head_dim);
  }
  /// K beside V.
  std::int64_t in() const override { return 2 * kv_.width(); }
  std::int64_t out_bytes() const override {
    return 2 * static_cast<std::int64_t>(
                   kernels::row_bytes(kv_.layout().type, kv_.width()));
  }
  void draw(std::uint64_t) override {}
  void run(std::int64_t first, std::int64_t rows, const float* x,
           std::byte* y) override {
    const float* k = x + first * in();
    kv_.write(first, rows, k, k + kv_.width(), in(), pool_);
    for (std::int64_t r = 0; r < rows; ++r) {
      kv_.read(first + r, y + r * out_bytes());
    }
  }

 private:
  paged kv_;
  kernels::thread_pool& pool_;
};

class attention_subject final : public op_subject {
 public:
  attention_subject(int heads, kernels::kv_layout layout, std::int64_t base,
                    kernels::thread_pool& pool)
      : heads_{heads},
        base_{base},
        kv_{layout, base + positions},
        pool_{pool} {}
  std::string shape() const override {
    return std::string{kernels::traits(kv_.layout().type).name} + " " +
           std::to_string(heads_) + " heads over " +
           std::to_string(kv_.layout().kv_heads) + " of " +
           std::to_string(kv_.layout().head_dim) + ", positions from " +
           std::to_string(base_);
  }
  std::int64_t in() const override {
    return std::int64_t{heads_} * kv_.layout().head_dim;
  }
  std::int64_t out_bytes() const override { return in() * 4; }
  void draw(std::uint64_t seed) override {
    const auto rows = base_ + positions;
    const auto k = normal_floats(rows * kv_.width(), seed + 7, 1.0F);
    const auto v = normal_floats(rows * kv_.width(), seed + 8, 1.0F);
    kv_.write(0, rows, k.data(), v.data(), kv_.width(), pool_);
  }
  void run(std::int64_t first, std::int64_t rows, const float* x,
           std::byte* y) override {
    made_.resize(static_cast<std::size_t>(rows * in()));
    const auto piece = kv_.rows(base_ + first, rows);
    const auto scale =
        1.0F / std::sqrt(static_cast<float>(kv_.layout().head_dim));
    kernels::attention(kv_.layout(), kv_.memory(), {&piece, 1},
                       x + first * in(), in(), heads_, scale, made_.data(),
                       scratch_, pool_);
    std::memcpy(y, made_.data(), made_.size() * sizeof(float));
  }

 private:
  int heads_;
  std::int64_t base_;
  paged kv_;
  kernels::thread_pool& pool_;
  kernels::attention_scratch scratch_;
  std::vector<float> made_;
};

/// Sizes of a model.
struct sizes {
  std::int64_t hidden = 576;
  std::int64_t network = 1536;
  int heads = 9;
  int kv_heads = 3;
  int head_dim = 64;
};

sizes sizes_of(const op_options& o) {
  if (!o.model) return {};
  return {o.model->hidden_size, o.model->intermediate_size, o.model->heads,
          o.model->kv_heads, o.model->head_dim};
}

}  // namespace

const std::vector<std::string>& op_names() {
  static const std::vector<std::string> names{
      "matmul", "norm", "rope", "kv_write", "attention", "activation"};
  return names;
}

std::vector<std::unique_ptr<op_subject>> op_subjects(
    const op_options& o, kernels::thread_pool& pool) {
  std::vector<std::unique_ptr<op_subject>> out;
  const auto s = sizes_of(o);
  const auto wanted = [&](dtype type) {
    return o.types.empty() ||
           std::find(o.types.begin(), o.types.end(), type) != o.types.end();
  };
  if (o.op == "matmul") {
    const auto query = std::int64_t{s.heads} * s.head_dim;
    const auto kv = std::int64_t{s.kv_heads} * s.head_dim;
    const std::pair<std::int64_t, std::int64_t> shapes[] = {
        {kv, s.hidden},
        {s.hidden, query},
        {s.network, s.hidden},
        {s.hidden, s.network}};
    for (const auto type : weight_types) {
      if (!wanted(type)) continue;
      for (const auto& [rows, in] : shapes) {
        out.push_back(
            std::make_unique<matmul_subject>(type, rows, in, o.plan, pool));
      }
    }
  } else if (o.op == "norm" || o.op == "activation") {
    const bool norm = o.op == "norm";
    const auto in = norm ? s.hidden : s.network;
    for (const bool quantize : {false, true}) {
      if (quantize && in % kernels::quant_block_elements != 0) continue;
      out.push_back(
          std::make_unique<rows_subject>(norm, quantize, in, o.plan, pool));
    }
  } else if (o.op == "rope") {
    for (const std::int64_t base : {0, 4090}) {
      out.push_back(
          std::make_unique<rope_subject>(s.heads, s.head_dim, base, pool));
    }
  } else if (o.op == "kv_write" || o.op == "attention") {
    for (const auto type : {dtype::f16, dtype::f32}) {
      if (!wanted(type)) continue;
      const kernels::kv_layout layout{s.kv_heads, s.head_dim, type};
      if (o.op == "kv_write") {
        out.push_back(std::make_unique<kv_write_subject>(layout, pool));
        continue;
      }
      // Within a chunk, across its border, and two chunks further.
      constexpr auto chunk = kernels::attention_chunk_positions;
      for (const std::int64_t base : {0, chunk - 20, 3 * chunk - 20}) {
        out.push_back(
            std::make_unique<attention_subject>(s.heads, layout, base, pool));
      }
    }
  } else {
    throw std::invalid_argument{"'" + o.op + "' is no op"};
  }
  if (out.empty()) {
    throw std::invalid_argument{o.op + " does not come with such a type"};
  }
  return out;
}

}  // namespace vouch::engine
