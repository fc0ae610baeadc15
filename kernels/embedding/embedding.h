// Rows of the embedding table by token id. Cost: embedding_cost.h.
#pragma once

#include <cstdint>

namespace servetwin {

// output[tokens][hidden] = table[ids[t]]. Every id is a row of the table.
void embedding(
    const float* table, std::int64_t hidden, const std::int32_t* ids, std::int64_t tokens, float* output);

}  // namespace servetwin
