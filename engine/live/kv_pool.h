// Memory of the KV cache: every block of every layer, in one number format.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "engine/base/units.h"
#include "engine/models/spec.h"
#include "kernels/attention/paged_attention.h"

namespace servetwin {

class KvPool {
 public:
  // `dtype` is one of kv_elements.h.
  KvPool(const ModelSpec& spec, Blocks num_blocks, Tokens block_size, DType dtype = DType::kF32);

  PagedCache layer(std::int64_t index);
  std::int64_t block_size() const { return block_size_; }
  std::int64_t slots() const { return slots_; }
  Bytes bytes() const;
  // A block of all layers, copied out as block_bytes() bytes, and back in.
  std::size_t block_bytes() const;
  void read_block(std::int32_t id, std::byte* to);
  void write_block(std::int32_t id, const std::byte* from);
  // Of a pool that is not there yet.
  static Bytes bytes(const ModelSpec& spec, Blocks num_blocks, Tokens block_size, DType dtype);

 private:
  template <class Copy>
  void for_parts_of_block(std::int32_t id, const Copy& copy);

  std::int64_t layers_;
  std::int64_t kv_heads_;
  std::int64_t head_dim_;
  std::int64_t block_size_;
  std::int64_t slots_;
  std::int64_t per_layer_;  // vectors
  DType dtype_;
  std::vector<std::byte> keys_;    // [layer][block][offset][kv head][head_dim]
  std::vector<std::byte> values_;  // empty: values are beginnings of keys
  std::vector<float> key_scales_;  // [layer][block][offset][kv head]; empty without scales
  std::vector<float> value_scales_;
};

}  // namespace servetwin
