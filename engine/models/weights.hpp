#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "engine/checkpoint/checkpoint.hpp"
#include "engine/types.hpp"
#include "kernels/matmul.hpp"
#include "kernels/thread_pool.hpp"

namespace vouch::engine {

/// The steps from a checkpoint's tensors to what the kernels take, shared by
/// the families. All throw input_error naming file and tensor.

/// The tensor of `shape`, {out, in} or {size}, whose rows are whole blocks of
/// its type.
const tensor_view& require_rows(const checkpoint& source,
                                const std::string& name,
                                const std::vector<std::int64_t>& shape);

/// A weight matrix {out, in}, packed.
kernels::packed_weights load_matrix(const checkpoint& source,
                                    const std::string& name, std::int64_t out,
                                    std::int64_t in,
                                    kernels::thread_pool& pool);

/// A vector of `size` floats (a norm's weight, a bias).
std::vector<float> load_vector(const checkpoint& source,
                               const std::string& name, std::int64_t size);

/// A token embedding, {vocabulary, width}, whose rows are expanded as they are
/// needed from the mapped file, which it keeps.
class embedding_table {
 public:
  embedding_table(const checkpoint& source, const std::string& name,
                  std::int64_t vocabulary, std::int64_t width);

  /// Row `token` as `width` floats.
  void read(token_id token, float* out) const;

 private:
  std::shared_ptr<const checkpoint> source_;
  tensor_view tensor_;
};

}  // namespace vouch::engine
