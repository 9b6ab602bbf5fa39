#include "engine/sampling/candidates.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "kernels/softmax_weights.hpp"

namespace vouch::engine {

namespace {

constexpr float minus_infinity = -std::numeric_limits<float>::infinity();

/// The mass that the first candidates must reach together.
std::uint64_t nucleus_target(std::uint64_t total, float top_p) {
  const double target = static_cast<double>(top_p) * static_cast<double>(total);
  return std::min(total, static_cast<std::uint64_t>(std::ceil(target)));
}

/// Appends the candidates with value >= threshold, which always are the first
/// ones of the row's order.
void gather(std::span<const float> row, float threshold,
            std::vector<candidate>& out) {
  constexpr std::size_t block = 64;
  const std::size_t n = row.size();
  for (std::size_t begin = 0; begin < n; begin += block) {
    const std::size_t end = std::min(n, begin + block);
    // Most blocks hold none: look for one first, without branches.
    std::uint32_t any = 0;
    for (std::size_t i = begin; i < end; ++i) {
      any |= row[i] >= threshold ? 1U : 0U;
    }
    if (any == 0) {
      continue;
    }
    for (std::size_t i = begin; i < end; ++i) {
      if (row[i] >= threshold && row[i] != minus_infinity) {
        out.push_back({row[i], static_cast<token_id>(i), 0.0F});
      }
    }
  }
}

std::uint64_t mass_of(std::span<const candidate> candidates) {
  std::uint64_t sum = 0;
  for (const auto& c : candidates) {
    sum += kernels::softmax_mass(c.weight);
  }
  return sum;
}

/// Keeps the first candidates whose mass reaches `target`, which the whole
/// list reaches. Quickselect by mass: each pass halves what is undecided.
void keep_mass(std::vector<candidate>& candidates, std::uint64_t target) {
  auto first = candidates.begin();
  auto last = candidates.end();
  while (last - first > 1) {
    const auto middle = first + (last - first) / 2;
    std::nth_element(first, middle, last, before);
    const auto upper = mass_of(std::span<const candidate>{first, middle});
    if (upper >= target) {
      last = middle;
    } else {
      target -= upper;
      first = middle;
    }
  }
  candidates.erase(last, candidates.end());
}

/// A nucleus of many: masses by steps of distance from the largest tell the
/// step in which the target is reached; only that one is searched.
void take_wide_nucleus(std::span<const float> row, const weighing& weigh,
                       std::uint64_t target, std::vector<candidate>& out) {
  constexpr float steps_per_unit = 8.0F;
  constexpr float farthest = 87.0F;
  constexpr auto steps =
      static_cast<std::size_t>(farthest * steps_per_unit) + 1;
  constexpr std::size_t block = 256;
  thread_local std::vector<std::uint16_t> step_of;
  step_of.resize(row.size());
  std::array<std::uint64_t, steps> masses{};
  for (std::size_t begin = 0; begin < row.size(); begin += block) {
    const std::size_t count = std::min(block, row.size() - begin);
    float weights[block];
    weigh.weights(row.data() + begin, count, weights);
    for (std::size_t i = 0; i < count; ++i) {
      const float distance = std::min(-weigh.scaled(row[begin + i]), farthest);
      const auto step = static_cast<std::uint16_t>(
          static_cast<std::int32_t>(distance * steps_per_unit));
      step_of[begin + i] = step;
      masses[step] += kernels::softmax_mass(weights[i]);
    }
  }
  std::size_t last = 0;
  while (last + 1 < steps && masses[last] < target) {
    target -= masses[last];
    ++last;
  }
  thread_local std::vector<candidate> undecided;
  undecided.clear();
  out.clear();
  for (std::size_t i = 0; i < row.size(); ++i) {
    if (step_of[i] <= last && row[i] != minus_infinity) {
      (step_of[i] < last ? out : undecided)
          .push_back({row[i], static_cast<token_id>(i), 0.0F});
    }
  }
  weigh_all(undecided, weigh);
  keep_mass(undecided, target);
  weigh_all(out, weigh);
  out.insert(out.end(), undecided.begin(), undecided.end());
}

}  // namespace

void weighing::weights(const float* values, std::size_t n, float* out) const {
  kernels::softmax_weights(values, static_cast<std::int64_t>(n), largest,
                           temperature, out);
}

void weigh_all(std::vector<candidate>& candidates, const weighing& weigh) {
  constexpr std::size_t block = 256;
  float values[block];
  float weights[block];
  for (std::size_t begin = 0; begin < candidates.size(); begin += block) {
    const std::size_t count = std::min(block, candidates.size() - begin);
    for (std::size_t i = 0; i < count; ++i) {
      values[i] = candidates[begin + i].value;
    }
    weigh.weights(values, count, weights);
    for (std::size_t i = 0; i < count; ++i) {
      candidates[begin + i].weight = weights[i];
    }
  }
}

void take_top(std::span<const float> row, std::size_t count,
              std::vector<candidate>& out) {
  out.clear();
  count = std::min(count, row.size());
  if (count == 0) {
    return;
  }
  // A threshold that lets at least `count` through: the count-th largest of the
  // maxima of short blocks. Where there are too few blocks, everything.
  constexpr std::size_t block = 64;
  const std::size_t blocks = row.size() / block;
  float threshold = minus_infinity;
  if (blocks > count) {
    thread_local std::vector<float> maxima;
    maxima.resize(blocks);
    for (std::size_t b = 0; b < blocks; ++b) {
      const float* values = row.data() + b * block;
      // Eight running maxima, so that the loop vectorises.
      float lanes[8];
      std::copy_n(values, 8, lanes);
      for (std::size_t i = 8; i < block; i += 8) {
        for (std::size_t lane = 0; lane < 8; ++lane) {
          lanes[lane] =
              values[i + lane] > lanes[lane] ? values[i + lane] : lanes[lane];
        }
      }
      maxima[b] = *std::max_element(lanes, lanes + 8);
    }
    const auto nth = maxima.begin() + static_cast<std::ptrdiff_t>(count - 1);
    std::nth_element(maxima.begin(), nth, maxima.end(), std::greater<>{});
    threshold = *nth;
  }
  gather(row, threshold, out);
  if (out.size() > count) {
    std::nth_element(out.begin(),
                     out.begin() + static_cast<std::ptrdiff_t>(count),
                     out.end(), before);
    out.resize(count);
  }
  std::sort(out.begin(), out.end(), before);
}

void take_nucleus(std::span<const float> row, const weighing& weigh,
                  float top_p, std::vector<candidate>& out) {
  const std::uint64_t total =
      kernels::softmax_mass(row.data(), static_cast<std::int64_t>(row.size()),
                            weigh.largest, weigh.temperature);
  const std::uint64_t target = nucleus_target(total, top_p);
  // Usually few candidates, near the largest, carry nearly everything.
  constexpr float near = 6.0F;
  constexpr std::size_t few = 1024;
  out.clear();
  gather(row, weigh.largest - near * weigh.temperature, out);
  if (out.size() <= few) {
    weigh_all(out, weigh);
  }
  if (out.size() <= few && mass_of(out) >= target) {
    keep_mass(out, target);
  } else {
    take_wide_nucleus(row, weigh, target, out);
  }
}

void cut_nucleus(std::vector<candidate>& candidates, const weighing& weigh,
                 float top_p) {
  weigh_all(candidates, weigh);
  keep_mass(candidates, nucleus_target(mass_of(candidates), top_p));
}

}  // namespace vouch::engine
