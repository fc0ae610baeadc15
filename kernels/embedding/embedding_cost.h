// FLOPs and bytes of gathering the embeddings of `tokens` tokens.
#pragma once

#include "engine/base/work.h"

namespace servetwin {

// Reads one row of the table and writes one row of activations a token; reads its 4-byte id.
constexpr Work embedding_work(double tokens, double hidden, double weight_bytes, double activation_bytes) {
  return {0.0, tokens * (hidden * (weight_bytes + activation_bytes) + 4.0)};
}

}  // namespace servetwin
