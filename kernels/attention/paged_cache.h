// The cache that attention reads, and how it is to score: plain data for the CPU and for devices.
#pragma once

#include <cstdint>

#include "engine/base/dtype.h"
#include "kernels/attention/kv_elements.h"

namespace servetwin {

// One layer of the cache: keys and values as [blocks][block_size][kv_heads][head_dim] elements of `dtype`.
struct PagedCache {
  void* keys = nullptr;
  void* values = nullptr;  // may be the keys: then a value is the beginning of its key
  std::int64_t block_size = 0;
  std::int64_t kv_heads = 0;
  std::int64_t head_dim = 0;
  DType dtype = DType::kF32;    // see is_kv_dtype
  float* key_scales = nullptr;  // of 8-bit elements: [blocks][block_size][kv_heads]
  float* value_scales = nullptr;
};

struct AttentionOptions {
  std::int64_t heads = 0;      // of the queries: a multiple of kv_heads (equal: MHA, 1: MQA)
  float scale = 0;             // of the scores; 0: 1 / sqrt(head_dim)
  float soft_cap = 0;          // scores become cap · tanh(score / cap) after scaling; 0: they do not
  std::int64_t window = 0;     // keys that a query sees, its own the last; 0: all before it
  std::int64_t value_dim = 0;  // first elements of a value that count; 0: head_dim
};

}  // namespace servetwin
