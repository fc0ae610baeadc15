// One allocation for keys, one for values; latent attention has one for both.
#include "engine/live/kv_pool.h"

#include <cstring>
#include <span>

#include "engine/base/check.h"
#include "engine/models/kv_format.h"

namespace servetwin {

namespace {

KvLayout filled(const ModelSpec& spec, const KvLayout& layout) {
  return layout.groups.empty() ? whole_kv_layout(spec) : layout;
}

}  // namespace

KvPool::KvPool(
    const ModelSpec& spec, Blocks num_blocks, Tokens block_size, DType dtype, const KvLayout& layout)
    : places_(static_cast<std::size_t>(spec.layers)),
      layers_(filled(spec, layout).layers_per_block),
      kv_heads_(spec.is_mla() ? 1 : spec.kv_heads),
      head_dim_(spec.is_mla() ? spec.mla.kv_lora_rank + spec.mla.qk_rope_head_dim : spec.head_dim),
      block_size_(block_size.value),
      slots_(num_blocks.value * block_size.value),
      per_layer_(slots_ * kv_heads_),
      dtype_(dtype) {
  CHECK_INVARIANT(is_kv_dtype(dtype), name_of(dtype));
  const std::vector<KvLayerGroup> groups = filled(spec, layout).groups;
  for (std::size_t group = 0; group < groups.size(); ++group) {
    std::int64_t place = 0;
    for (const std::int64_t layer : groups[group].layers)
      places_[static_cast<std::size_t>(layer)] = {group, place++};
  }
  const std::int64_t vectors = layers_ * per_layer_;
  keys_.resize(static_cast<std::size_t>(bytes_of(dtype, vectors * head_dim_).value));
  if (!spec.is_mla()) values_.resize(keys_.size());
  if (!has_scales(dtype)) return;
  key_scales_.resize(static_cast<std::size_t>(vectors));
  if (!spec.is_mla()) value_scales_.resize(key_scales_.size());
}

PagedCache KvPool::layer(std::int64_t index) {
  const std::int64_t first = places_[static_cast<std::size_t>(index)].layer * per_layer_;
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

std::size_t KvPool::block_bytes() const {
  return static_cast<std::size_t>(bytes().value / (slots_ / block_size_));
}

// copy(memory, size) for what the block is in each layer's keys, values and scales, always in the same order.
template <class Copy>
void KvPool::for_parts_of_block(std::int32_t id, const Copy& copy) {
  const std::span<std::byte> stores[] = {keys_, values_, std::as_writable_bytes(std::span(key_scales_)),
                                         std::as_writable_bytes(std::span(value_scales_))};
  const auto num_blocks = static_cast<std::size_t>(slots_ / block_size_);
  for (const std::span<std::byte> store : stores) {
    const std::size_t per_layer = store.size() / static_cast<std::size_t>(layers_);
    const std::size_t size = per_layer / num_blocks;
    for (std::size_t at = static_cast<std::size_t>(id) * size; at < store.size(); at += per_layer) {
      copy(store.data() + at, size);
    }
  }
}

void KvPool::read_block(std::int32_t id, std::byte* to) {
  for_parts_of_block(id, [&](const std::byte* part, std::size_t size) {
    std::memcpy(to, part, size);
    to += size;
  });
}

void KvPool::write_block(std::int32_t id, const std::byte* from) {
  for_parts_of_block(id, [&](std::byte* part, std::size_t size) {
    std::memcpy(part, from, size);
    from += size;
  });
}

Bytes KvPool::bytes(const ModelSpec& model,
                    Blocks num_blocks,
                    Tokens block_size,
                    DType dtype,
                    const KvLayout& layout,
                    int ranks) {
  const KvFormat format{dtype, KvScales::kTokenHead};
  return kv_token_bytes(model, format, ranks, filled(model, layout).layers_per_block) *
         (num_blocks.value * block_size.value);
}

}  // namespace servetwin
