#pragma once

#include <cstddef>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "engine/tokenizer/added_tokens.hpp"
#include "engine/tokenizer/merge_model.hpp"
#include "engine/tokenizer/normalizer.hpp"
#include "engine/tokenizer/pre_tokenizer.hpp"
#include "engine/tokenizer/tokenizer.hpp"
#include "engine/tokenizer/vocabulary.hpp"

namespace vouch::engine {

/// What a loader puts together.
struct pipeline_parts {
  vocabulary words;
  std::vector<added_token> added;
  normalizer_steps normalizers;
  split_steps splitters;
  /// Called with the frozen vocabulary in its final place.
  std::function<std::unique_ptr<merge_model>(const vocabulary&)> make_model;
  /// What the post-processor puts around a text.
  std::vector<token_id> prefix;
  std::vector<token_id> suffix;
  std::optional<token_id> bos;
  std::optional<token_id> eos;
  std::optional<token_id> pad;
  /// Spaces that decode takes off the text's start.
  std::size_t leading_spaces = 0;
  std::string warning;
};

/// Added tokens, normalizer, pre-tokenizer, model, post-processor: the steps
/// of a tokenizer.json, in its order.
class pipeline_tokenizer final : public tokenizer {
 public:
  explicit pipeline_tokenizer(pipeline_parts parts);

  std::vector<token_id> encode(std::string_view text,
                               const encode_options& options) const override;
  std::vector<token_id> encode(const std::vector<text_span>& spans,
                               const encode_options& options) const override;

  std::string_view token_bytes(token_id token) const override;
  std::string token_text(token_id token) const override;
  bool is_special(token_id token) const override;
  std::optional<token_id> find(std::string_view token_text) const override;
  std::int32_t size() const override { return words_.size(); }

  std::optional<token_id> bos() const override { return parts_.bos; }
  std::optional<token_id> eos() const override { return parts_.eos; }
  std::optional<token_id> pad() const override { return parts_.pad; }
  std::vector<token_id> turn_end_tokens() const override;
  std::size_t leading_spaces() const override { return parts_.leading_spaces; }
  std::string_view warning() const override { return parts_.warning; }

 private:
  struct job;
  void encode_segment(job& work, std::size_t begin, std::size_t end) const;
  void encode_text(job& work, std::string_view text, bool at_start) const;

  vocabulary words_;
  pipeline_parts parts_;
  std::unique_ptr<const merge_model> model_;
  /// Looked for in the text, and in normalised text.
  added_token_matcher raw_;
  added_token_matcher normalized_;
};

/// Loaders. `path` names the file in errors; both throw input_error.
std::shared_ptr<const tokenizer> load_tokenizer_json(
    const std::filesystem::path& path);
std::shared_ptr<const tokenizer> load_tokenizer_gguf(
    const std::filesystem::path& path);

}  // namespace vouch::engine
