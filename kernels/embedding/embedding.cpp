// A row a token.
#include "kernels/embedding/embedding.h"

#include "engine/base/dequantise.h"

namespace servetwin {

void embedding(const WeightMatrix& table, const std::int32_t* ids, std::int64_t tokens, float* output) {
  const auto width = static_cast<std::size_t>(table.columns);
  for (std::int64_t t = 0; t < tokens; ++t, output += width) {
    dequantise(table.dtype, {table.row(ids[t]), table.row_bytes()}, {output, width});
  }
}

}  // namespace servetwin
