// Memory of the KV cache: every block of every layer, in one number format.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "engine/base/units.h"
#include "engine/models/kv_layout.h"
#include "kernels/attention/paged_attention.h"

namespace servetwin {

class KvPool {
 public:
  // `dtype` is one of kv_elements.h. Without a layout a block holds all layers.
  KvPool(const ModelSpec& spec,
         Blocks num_blocks,
         Tokens block_size,
         DType dtype = DType::kF32,
         const KvLayout& layout = {});

  PagedCache layer(std::int64_t index);
  // Whose block tables the layer follows.
  std::size_t group_of(std::int64_t layer) const { return places_[static_cast<std::size_t>(layer)].group; }
  std::int64_t block_size() const { return block_size_; }
  std::int64_t slots() const { return slots_; }
  Bytes bytes() const;
  // A block with all its layers, copied out as block_bytes() bytes, and back in.
  std::size_t block_bytes() const;
  void read_block(std::int32_t id, std::byte* to);
  void write_block(std::int32_t id, const std::byte* from);
  // Of a pool that is not there yet, on one of `ranks` ranks.
  static Bytes bytes(const ModelSpec& model,
                     Blocks num_blocks,
                     Tokens block_size,
                     DType dtype,
                     const KvLayout& layout = {},
                     int ranks = 1);

 private:
  struct Place {
    std::size_t group = 0;
    std::int64_t layer = 0;  // of those in a block
  };

  template <class Copy>
  void for_parts_of_block(std::int32_t id, const Copy& copy);

  std::vector<Place> places_;  // by layer of the model
  std::int64_t layers_;        // in a block
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
