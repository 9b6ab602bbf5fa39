#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include "engine/tokenizer/merge.hpp"
#include "engine/tokenizer/vocabulary.hpp"
#include "engine/types.hpp"

namespace vouch::engine {

/// Turns pieces into tokens. Immutable; `scratch` is the caller's.
class merge_model {
 public:
  struct scratch {
    std::vector<merge_symbol> symbols;
    std::vector<merge_candidate> pairs;
  };

  virtual ~merge_model() = default;
  /// Appends the tokens of a piece of valid UTF-8.
  virtual void encode(std::string_view piece, scratch& memory,
                      std::vector<token_id>& out) const = 0;
};

/// Ranks and results of pairs of tokens: open addressing, a power of two.
class merge_table {
 public:
  explicit merge_table(std::size_t merges);
  /// A pair named twice keeps its later rank, as in a Python dict.
  void insert(token_id left, token_id right, merge_candidate result);
  merge_candidate find(token_id left, token_id right) const;

 private:
  struct entry {
    std::uint64_t key = empty;
    merge_candidate result;
  };
  static constexpr std::uint64_t empty = ~std::uint64_t{0};
  std::size_t slot(std::uint64_t key) const;

  std::vector<entry> entries_;
  int shift_ = 0;
};

struct bpe_options {
  /// Symbols are bytes in GPT-2's spelling; otherwise characters.
  bool byte_level = true;
  /// A piece that is a token is not merged.
  bool ignore_merges = false;
  /// Unknown characters become their "<0xHH>" tokens where all exist.
  bool byte_fallback = false;
  /// What other unknown characters become; without it they vanish.
  std::optional<token_id> unknown;
  /// Neighbouring unknown characters become one unknown token.
  bool fuse_unknown = false;
};

/// Byte pair encoding by merge ranks (tokenizer.json "BPE", GGUF "gpt2").
/// `words` outlives the model and is frozen.
std::unique_ptr<merge_model> make_bpe(const vocabulary& words,
                                      merge_table merges,
                                      const bpe_options& options);

/// SentencePiece BPE by scores (GGUF "llama"): the neighbours whose joined
/// text is the token of highest score are joined first; what is no token in
/// the end becomes byte tokens, else `unknown`.
std::unique_ptr<merge_model> make_spm(const vocabulary& words,
                                      const std::vector<double>& scores,
                                      std::optional<token_id> unknown);

}  // namespace vouch::engine
