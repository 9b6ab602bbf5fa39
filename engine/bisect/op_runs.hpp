#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "engine/models/model_config.hpp"
#include "kernels/dtype.hpp"
#include "kernels/plan.hpp"
#include "kernels/thread_pool.hpp"

namespace vouch::engine {

/// One kernel at one shape, over rows that are numbered: what it makes of row r
/// depends on input row r, and on r as its position.
class op_subject {
 public:
  virtual ~op_subject() = default;
  /// "q4_1 [576][576]".
  virtual std::string shape() const = 0;
  /// Floats of input row.
  virtual std::int64_t in() const = 0;
  /// Bytes of output row.
  virtual std::int64_t out_bytes() const = 0;
  /// Another set of weights, or of what stands in a cache.
  virtual void draw(std::uint64_t seed) = 0;
  /// Rows first ... first + rows - 1 of `x`, [all][in], in one call; `y`:
  /// [rows][out_bytes].
  virtual void run(std::int64_t first, std::int64_t rows, const float* x,
                   std::byte* y) = 0;
};

struct op_options {
  /// Of op_names.
  std::string op;
  /// Of weights, for matmul; of K and V, for attention and kv_write. Empty: all
  /// there are.
  std::vector<kernels::dtype> types;
  /// Shapes of this model; else some built-in ones.
  std::optional<model_config> model;
  kernels::kernel_plan plan = kernels::kernel_plan::invariant;
  int draws = 3;
  std::uint64_t seed = 1;
};

/// "matmul", "norm", "rope", "kv_write", "attention", "activation".
const std::vector<std::string>& op_names();

/// Throws std::invalid_argument for an unknown op, or a type it does not have.
std::vector<std::unique_ptr<op_subject>> op_subjects(
    const op_options& options, kernels::thread_pool& pool);

/// What one subject came to.
struct op_line {
  std::string shape;
  std::int64_t blocks = 0;
  std::int64_t rows = 0;
  /// The first row that is not what it is alone.
  struct difference {
    std::uint64_t draw = 0;
    /// Rows of the block, the first one's number, and the row's in the block.
    std::int64_t rows = 0;
    std::int64_t offset = 0;
    std::int64_t row = 0;
    std::int64_t differing_bytes = 0;
    std::int64_t total_bytes = 0;
  };
  std::optional<difference> first;
  /// Blocks in which a row differed.
  std::int64_t differing_blocks = 0;
};

/// Each row alone, then in blocks of 1 to 33 rows that begin at several rows.
op_line run_op(op_subject& subject, int draws, std::uint64_t seed);

}  // namespace vouch::engine
