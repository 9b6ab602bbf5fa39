#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "engine/models/dflash_files.hpp"
#include "engine/models/weights.hpp"
#include "kernels/matmul.hpp"

namespace vouch::engine {

// Shapes: H hidden size, F network width, V the drafter's vocabulary, T taps *
// tap width, Q = heads * head_dim, K = kv_heads * head_dim. Weights are
// {out, in}.

/// A matrix with an optional bias [out].
struct dflash_linear {
  kernels::packed_weights weight;
  std::vector<float> bias;
};

/// DFlash 2: k taps into the past, G = H / group size.
struct dflash_convolution_weights {
  std::vector<float> base;   // [2][k][H]: before and after the sublayer
  dflash_linear projection;  // {2 * k * G, H}
};

struct dflash_layer {
  std::vector<float> attention_norm;  // [H]
  dflash_linear query;                // {Q, H}
  dflash_linear key;                  // {K, H}
  dflash_linear value;                // {K, H}
  dflash_linear output;               // {H, Q}
  std::vector<float> query_norm;      // [head_dim]
  std::vector<float> key_norm;        // [head_dim]
  std::vector<float> network_norm;    // [H]
  dflash_linear gate;                 // {F, H}
  dflash_linear up;                   // {F, H}
  dflash_linear down;                 // {H, F}
  std::optional<dflash_convolution_weights> attention_convolution;
  std::optional<dflash_convolution_weights> network_convolution;
};

struct dflash_weights {
  dflash_linear tap_projection;  // fc: {H, T}
  std::vector<float> tap_norm;   // hidden_norm: [H]
  std::vector<dflash_layer> layers;
  std::vector<float> final_norm;  // [H]
  /// The drafter's own, where it ships them; else the target's are used.
  std::optional<embedding_table> embedding;  // {target's vocabulary, H}
  std::optional<dflash_linear> head;         // {V, H}
  /// Stands for the embedding row of the mask; empty: that row itself.
  std::vector<float> mask_embedding;  // [H]
  /// DFlash 2's selector, of rank r.
  std::optional<embedding_table> predecessors;  // {V, r}
  std::optional<embedding_table> successors;    // {V, r}
  std::optional<dflash_linear> selector;        // {r, H}
  /// DSpark's Markov head, of rank r.
  std::optional<embedding_table> markov_in;  // {V, r}
  std::optional<dflash_linear> markov_out;   // {V, r}
  std::size_t bytes = 0;
};

/// The first tensor of a file that its form has no place for; empty: none. It
/// would be a feature that nothing computes.
std::string foreign_tensor(const dflash_files& files, std::int32_t taps);

/// Loads everything for `taps` tapped layers. Throws input_error naming file
/// and tensor when one is missing or misshapen.
dflash_weights load_dflash_weights(const dflash_files& files, std::int32_t taps,
                                   kernels::thread_pool& pool);

}  // namespace vouch::engine
