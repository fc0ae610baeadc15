// Launch of the rotary embedding fused with the write to the KV cache; rotary.h and paged_attention.h say
// what the two compute.
#pragma once

#include <cstdint>

#include "engine/base/dtype.h"
#include "kernels/attention/paged_cache.h"
#include "kernels/cuda/stream.h"
#include "kernels/rotary/rotary_layout.h"

namespace servetwin {

// All pointers are the device's.
struct RotaryTokens {
  std::int64_t tokens = 0;
  std::int64_t heads = 0;
  DType dtype = DType::kF32;                // of queries, keys and values: f32, f16 or bf16
  void* queries = nullptr;                  // [tokens][heads][head_dim], turned in place
  const void* keys = nullptr;               // [tokens][kv_heads][head_dim]
  const void* values = nullptr;             // the same
  const std::int32_t* positions = nullptr;  // [tokens]
  const std::int64_t* slots = nullptr;      // [tokens]: block · block_size + offset; below 0: not written
  const float* speeds = nullptr;            // [pairs], as in RotaryFrequencies; the rest of a head stays
  std::int64_t pairs = 0;
  float magnitude = 1;
  RotaryLayout layout = RotaryLayout::kNeox;
};

// Turns queries in place, and writes turned keys, values and, for 8-bit elements, scales to their slots.
void rotary_store_cuda(const RotaryTokens& tokens, const PagedCache& cache, CudaStream stream = {});

}  // namespace servetwin
