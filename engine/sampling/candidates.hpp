#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "engine/types.hpp"

namespace vouch::engine {

/// A token that may be picked, with its adjusted logit.
struct candidate {
  float value = 0.0F;
  token_id token = -1;
  /// Set where the candidates of a nucleus are weighed.
  float weight = 0.0F;
};

/// The order of candidates everywhere: value descending, then id ascending.
inline bool before(const candidate& a, const candidate& b) {
  return a.value > b.value || (a.value == b.value && a.token < b.token);
}

/// Turns a value into its weight exp((value - largest) / temperature), a
/// float32 in [0, 1] that is 1 for the largest (kernels/softmax_weights.hpp).
struct weighing {
  float largest = 0.0F;
  float temperature = 1.0F;

  float scaled(float value) const { return (value - largest) / temperature; }
  void weights(const float* values, std::size_t n, float* out) const;
};

/// The `count` first candidates of `row` in order, sorted. Minus infinity is
/// never a candidate.
void take_top(std::span<const float> row, std::size_t count,
              std::vector<candidate>& out);

/// Gives the candidates their weights.
void weigh_all(std::vector<candidate>& candidates, const weighing& weigh);

/// The first candidates of `row`, up to and including the one with which their
/// share of the whole row's mass reaches top_p; in no particular order, with
/// their weights.
void take_nucleus(std::span<const float> row, const weighing& weigh,
                  float top_p, std::vector<candidate>& out);

/// The same cut on candidates already chosen, which gives them their weights.
void cut_nucleus(std::vector<candidate>& candidates, const weighing& weigh,
                 float top_p);

}  // namespace vouch::engine
