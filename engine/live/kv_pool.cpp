// One allocation for keys, one for values.
#include "engine/live/kv_pool.h"

namespace servetwin {

KvPool::KvPool(const ModelSpec& spec, Blocks num_blocks, Tokens block_size)
    : kv_heads_(spec.kv_heads),
      head_dim_(spec.head_dim),
      block_size_(block_size.value),
      slots_(num_blocks.value * block_size.value),
      per_layer_(slots_ * kv_heads_ * head_dim_),
      keys_(static_cast<std::size_t>(spec.layers * per_layer_)),
      values_(static_cast<std::size_t>(spec.layers * per_layer_)) {}

PagedCache KvPool::layer(std::int64_t index) {
  return {keys_.data() + index * per_layer_, values_.data() + index * per_layer_, block_size_, kv_heads_,
          head_dim_};
}

Bytes KvPool::bytes(const ModelSpec& spec, Blocks num_blocks, Tokens block_size) {
  return kv_bytes_per_token(spec, DType::kF32) * (num_blocks.value * block_size.value);
}

}  // namespace servetwin
