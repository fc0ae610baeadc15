// One allocation for keys, one for values; latent attention has one for both.
#include "engine/live/kv_pool.h"

#include "engine/base/check.h"

namespace servetwin {

KvPool::KvPool(const ModelSpec& spec, Blocks num_blocks, Tokens block_size, DType dtype)
    : kv_heads_(spec.is_mla() ? 1 : spec.kv_heads),
      head_dim_(spec.is_mla() ? spec.mla.kv_lora_rank + spec.mla.qk_rope_head_dim : spec.head_dim),
      block_size_(block_size.value),
      slots_(num_blocks.value * block_size.value),
      per_layer_(slots_ * kv_heads_),
      dtype_(dtype) {
  CHECK_INVARIANT(is_kv_dtype(dtype), name_of(dtype));
  const std::int64_t vectors = spec.layers * per_layer_;
  keys_.resize(static_cast<std::size_t>(bytes_of(dtype, vectors * head_dim_).value));
  if (!spec.is_mla()) values_.resize(keys_.size());
  if (!has_scales(dtype)) return;
  key_scales_.resize(static_cast<std::size_t>(vectors));
  if (!spec.is_mla()) value_scales_.resize(key_scales_.size());
}

PagedCache KvPool::layer(std::int64_t index) {
  const std::int64_t first = index * per_layer_;
  const std::int64_t at = bytes_of(dtype_, first * head_dim_).value;
  PagedCache cache{keys_.data() + at, keys_.data() + at, block_size_, kv_heads_, head_dim_, dtype_};
  if (!values_.empty()) cache.values = values_.data() + at;
  if (!has_scales(dtype_)) return cache;
  cache.key_scales = key_scales_.data() + first;
  cache.value_scales = values_.empty() ? cache.key_scales : value_scales_.data() + first;
  return cache;
}

Bytes KvPool::bytes() const {
  const std::size_t scales = (key_scales_.size() + value_scales_.size()) * sizeof(float);
  return Bytes{static_cast<std::int64_t>(keys_.size() + values_.size() + scales)};
}

Bytes KvPool::bytes(const ModelSpec& spec, Blocks num_blocks, Tokens block_size, DType dtype) {
  const std::int64_t vectors = spec.layers * (spec.is_mla() ? 1 : 2 * spec.kv_heads);
  const Bytes scales{has_scales(dtype) ? vectors * static_cast<std::int64_t>(sizeof(float)) : 0};
  return (kv_bytes_per_token(spec, dtype) + scales) * (num_blocks.value * block_size.value);
}

}  // namespace servetwin
