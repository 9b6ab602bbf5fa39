#include "engine/models/weights.hpp"

#include "engine/error.hpp"
#include "kernels/dequantize.hpp"

namespace vouch::engine {

namespace {

/// The kernels read whole blocks; a row of `in` elements must consist of them.
void check_blocks(const checkpoint& source, const tensor_view& tensor,
                  std::int64_t in) {
  const auto& traits = kernels::traits(tensor.type);
  if (in % traits.block_elements != 0) {
    throw input_error{source.path().string(),
                      "tensor '" + tensor.name + "': a row of " +
                          std::to_string(in) + " elements is no whole number " +
                          "of " + std::string{traits.name} + " blocks"};
  }
}

}  // namespace

kernels::packed_weights load_matrix(const checkpoint& source,
                                    const std::string& name, std::int64_t out,
                                    std::int64_t in,
                                    kernels::thread_pool& pool) {
  const auto& tensor = source.require(name, {out, in});
  check_blocks(source, tensor, in);
  std::vector<std::byte> moved;
  const auto* rows = source.ordered_rows(tensor, moved);
  return kernels::packed_weights::pack(tensor.type, rows, out, in, pool);
}

std::vector<float> load_vector(const checkpoint& source,
                               const std::string& name, std::int64_t size) {
  const auto& tensor = source.require(name, {size});
  check_blocks(source, tensor, size);
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
      tensor_{source.require(name, {vocabulary, width})} {
  check_blocks(source, tensor_, width);
}

void embedding_table::read(token_id token, float* out) const {
  const auto width = tensor_.shape[1];
  const auto row_bytes = kernels::row_bytes(tensor_.type, width);
  kernels::dequantize(
      tensor_.type, tensor_.data + static_cast<std::size_t>(token) * row_bytes,
      width, out);
}

}  // namespace vouch::engine
