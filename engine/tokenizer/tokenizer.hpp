#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "engine/types.hpp"

namespace vouch::engine {

/// A stretch of text and where it came from. Special tokens are recognised
/// only in text that the template itself (or the operator) wrote; user text
/// that spells one is text.
struct text_span {
  std::string text;
  bool trusted = true;
};

struct encode_options {
  /// Adds what the model's post-processor adds (a BOS for Llama 3). Off for
  /// text a chat template made.
  bool add_special_tokens = true;
  /// Recognises special (control) tokens in the text. Added tokens that are
  /// not special ("<think>") are always recognised in trusted text.
  bool parse_special = true;
  /// Applies the model's Unicode normalisation form (NFC, NFD) where it has
  /// one. Other normalizer steps always run.
  bool normalize = true;
};

/// Text to token ids and back. Immutable after loading; safe to share between
/// threads.
class tokenizer {
 public:
  virtual ~tokenizer() = default;

  virtual std::vector<token_id> encode(std::string_view text,
                                       const encode_options& options) const = 0;
  /// Encodes spans as one text: a special token is recognised inside a trusted
  /// span only, and never across a border; all other text is one text across
  /// borders. In untrusted spans only added tokens made of white space are
  /// recognised. Invalid UTF-8 is replaced first, span by span.
  virtual std::vector<token_id> encode(const std::vector<text_span>& spans,
                                       const encode_options& options) const = 0;

  /// The bytes a token stands for; empty for ids out of range and for ids the
  /// vocabulary leaves unused.
  virtual std::string_view token_bytes(token_id token) const = 0;
  /// The token as the vocabulary file spells it ("Ġthe", "<|im_end|>").
  virtual std::string token_text(token_id token) const = 0;
  /// A control token: left out of decoded text by default.
  virtual bool is_special(token_id token) const = 0;
  virtual std::optional<token_id> find(std::string_view token_text) const = 0;
  /// Ids are 0 ... size() - 1. May be smaller than the model's vocab_size.
  virtual std::int32_t size() const = 0;

  virtual std::optional<token_id> bos() const = 0;
  virtual std::optional<token_id> eos() const = 0;
  virtual std::optional<token_id> pad() const = 0;
  /// Tokens that end a chat turn by their text (<|im_end|>, <|eot_id|>,
  /// <|eom_id|>, <end_of_turn>), those the vocabulary has.
  virtual std::vector<token_id> turn_end_tokens() const = 0;
  /// Spaces that decode removes from the start of a whole text: those that
  /// SentencePiece vocabularies put before the first word. A stream that goes
  /// on from a prompt keeps them.
  virtual std::size_t leading_spaces() const { return 0; }
  /// What an operator should hear about this vocabulary ("splits like GPT-2
  /// because the file does not say how"); empty when all is well.
  virtual std::string_view warning() const { return {}; }

  /// decode without streaming: bytes joined, invalid UTF-8 replaced.
  std::string decode(const std::vector<token_id>& tokens,
                     bool skip_special_tokens) const;
};

/// Loads the tokenizer of a model: a GGUF file (a vocabulary alone is enough),
/// a folder with tokenizer.json, or a tokenizer.json itself. Throws
/// input_error.
std::shared_ptr<const tokenizer> load_tokenizer(
    const std::filesystem::path& path);

}  // namespace vouch::engine
