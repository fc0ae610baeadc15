// A copy a token.
#include "kernels/embedding/embedding.h"

#include <algorithm>

namespace servetwin {

void embedding(
    const float* table, std::int64_t hidden, const std::int32_t* ids, std::int64_t tokens, float* output) {
  for (std::int64_t t = 0; t < tokens; ++t) std::copy_n(table + ids[t] * hidden, hidden, output + t * hidden);
}

}  // namespace servetwin
