#include "engine/models/weights.hpp"

#include "engine/error.hpp"
#include "kernels/dequantize.hpp"

namespace vouch::engine {

// The kernels read whole blocks; a row must consist of them.
const tensor_view& require_rows(const checkpoint& source,
                                const std::string& name,
                                const std::vector<std::int64_t>& shape) {
  const auto& tensor = source.require(name, shape);
  const auto in = shape.back();
  const auto& traits = kernels::traits(tensor.type);
  if (in % traits.block_elements != 0) {
    throw input_error{source.path().string(),
                      "tensor '" + tensor.name + "': a row of " +
                          std::to_string(in) + " elements is no whole number " +
                          "of " + std::string{traits.name} + " blocks"};
  }
  return tensor;
}

kernels::packed_weights load_matrix(const checkpoint& source,
                                    const std::string& name, std::int64_t out,
                                    std::int64_t in,
                                    kernels::thread_pool& pool) {
  const auto& tensor = require_rows(source, name, {out, in});
  std::vector<std::byte> moved;
  const auto* rows = source.ordered_rows(tensor, moved);
  return kernels::packed_weights::pack(tensor.type, rows, out, in, pool);
}

std::vector<float> load_vector(const checkpoint& source,
                               const std::string& name, std::int64_t size) {
  const auto& tensor = require_rows(source, name, {size});
  std::vector<std::byte> moved;
  const auto* elements = source.ordered_rows(tensor, moved);
  std::vector<float> result(static_cast<std::size_t>(size));
  kernels::dequantize(tensor.type, elements, size, result.data());
  return result;
}

embedding_table::embedding_table(const checkpoint& source,
                                 const std::string& name,
                                 std::int64_t vocabulary, std::int64_t width)
    : source_{source.shared_from_this()},
      tensor_{require_rows(source, name, {vocabulary, width})} {}

void embedding_table::read(token_id token, float* out) const {
  const auto width = tensor_.shape[1];
  const auto row_bytes = kernels::row_bytes(tensor_.type, width);
  kernels::dequantize(
      tensor_.type, tensor_.data + static_cast<std::size_t>(token) * row_bytes,
      width, out);
}

}  // namespace vouch::engine
