// Rows of the embedding table by token id. Cost: embedding_cost.h.
#pragma once

#include <cstdint>

#include "engine/base/weight_matrix.h"

namespace servetwin {

// output[tokens][table.columns] = table[ids[t]] in f32. Every id is a row of the table.
void embedding(const WeightMatrix& table, const std::int32_t* ids, std::int64_t tokens, float* output);

}  // namespace servetwin
