// Memory of the KV cache: every block of every layer, in f32.
#pragma once

#include <cstdint>
#include <vector>

#include "engine/base/units.h"
#include "engine/models/spec.h"
#include "kernels/attention/paged_attention.h"

namespace servetwin {

class KvPool {
 public:
  KvPool(const ModelSpec& spec, Blocks num_blocks, Tokens block_size);

  PagedCache layer(std::int64_t index);
  std::int64_t block_size() const { return block_size_; }
  std::int64_t slots() const { return slots_; }
  static Bytes bytes(const ModelSpec& spec, Blocks num_blocks, Tokens block_size);

 private:
  std::int64_t kv_heads_;
  std::int64_t head_dim_;
  std::int64_t block_size_;
  std::int64_t slots_;
  std::int64_t per_layer_;
  std::vector<float> keys_;  // [layer][block][offset][kv head][head_dim]
  std::vector<float> values_;
};

}  // namespace servetwin
