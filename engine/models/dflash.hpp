#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "engine/models/dflash_config.hpp"
#include "engine/models/dflash_context.hpp"
#include "engine/models/dflash_weights.hpp"
#include "engine/models/model.hpp"

namespace vouch::engine {

/// A DFlash drafter (arXiv:2602.06036): a few layers that read the target's
/// hidden states of all committed tokens as context and fill a block of mask
/// rows behind the anchor in one pass. It knows nothing of sequences: what it
/// remembers of one is in a dflash_context. Not thread-safe: its scratch is one
/// call's. A draft is a function of the context's rows, the anchor and the
/// number of drafts; thread counts do not change it.
class dflash {
 public:
  /// `taps` are checked already (load_dflash).
  dflash(std::shared_ptr<const dflash_files> files,
         std::vector<std::int32_t> taps, bool sample_from_anchor,
         kernels::thread_pool& pool);
  ~dflash();

  const dflash_config& config() const { return config_; }
  /// The target's layers whose hidden rows `append` takes, 0-based, in order.
  std::span<const std::int32_t> taps() const { return config_.taps; }
  /// Drafts that one block holds.
  std::int32_t max_drafts() const {
    return config_.block_size - config_.silent_rows();
  }
  std::size_t weight_bytes() const { return weights_.bytes; }

  dflash_context new_context(std::int64_t first_position = 0) const;

  /// Takes the tapped rows of the next `rows` committed tokens, [rows][taps *
  /// tap width]: a prompt's all, later those of each round's kept rows.
  void append(dflash_context& context, const float* taps, std::int64_t rows,
              kernels::thread_pool& pool);

  /// Rows for one of many contexts, no context twice.
  struct context_rows {
    dflash_context* context = nullptr;
    const float* taps = nullptr;
    std::int64_t rows = 0;
  };
  /// The same for many sequences, with their rows computed together.
  void append(std::span<const context_rows> parts, kernels::thread_pool& pool);

  /// Up to `drafts` tokens (at most max_drafts()) to follow `anchor`, the last
  /// emitted token, which stands at context.end() and has no row yet. Fewer
  /// drafts are a narrower block, and so other drafts where rows see all of it.
  /// The context's rows stay as they are. Throws std::out_of_range for an
  /// anchor outside the vocabulary.
  std::vector<token_id> propose(dflash_context& context, token_id anchor,
                                std::int32_t drafts, model& target,
                                kernels::thread_pool& pool);
  /// The rows behind the last proposal, [drafts][vocabulary] (the drafter's
  /// own, where it has one), scaled and capped.
  std::span<const float> logits() const;

 private:
  struct scratch;
  void embed(token_id anchor, std::int64_t rows, model& target,
             kernels::thread_pool& pool);
  void attend(dflash_context& context, std::int32_t index, std::int64_t rows,
              kernels::thread_pool& pool);
  void transform(const dflash_layer& layer, std::int64_t rows,
                 kernels::thread_pool& pool);
  void make_logits(const float* normed, std::int64_t rows, model& target,
                   kernels::thread_pool& pool);
  /// K and V of scratch's activations as the rows behind the contexts' last
  /// ones; `pieces` have no taps here.
  void store(std::span<const context_rows> pieces, std::int32_t index,
             std::int64_t rows, kernels::thread_pool& pool);
  void append_chunk(std::span<const context_rows> pieces, std::int64_t rows,
                    kernels::thread_pool& pool);

  std::shared_ptr<const dflash_files> files_;
  dflash_config config_;
  dflash_weights weights_;
  std::unique_ptr<scratch> scratch_;
};

/// Why a drafter cannot serve a target. The target is served without it.
enum class dflash_decline : std::uint8_t {
  /// The files are no DFlash drafter's.
  wrong_family,
  /// A variant or feature that is not computed here.
  unsupported_form,
  /// The target's family hands out no hidden states.
  unsupported_target,
  /// Hidden size or number of layers are another target's.
  wrong_shape,
  /// Another vocabulary.
  wrong_vocabulary,
};
/// "wrong_shape", ...
std::string_view name_of(dflash_decline reason);

struct dflash_declined {
  dflash_decline reason;
  /// Names the file, what it has and what was wanted.
  std::string words;
};

struct dflash_options {
  /// Overrides what the configuration says; some checkpoints do not say it.
  std::optional<bool> sample_from_anchor;
};

/// Loads the drafter at `path` (a safetensors folder or a GGUF file) for
/// `target`. Throws input_error for files that are broken: a field or tensor
/// that is missing, malformed or misshapen.
std::variant<std::unique_ptr<dflash>, dflash_declined> load_dflash(
    const std::filesystem::path& path, const model& target,
    kernels::thread_pool& pool, const dflash_options& options = {});

}  // namespace vouch::engine
