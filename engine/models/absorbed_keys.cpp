// The matrix by which latent attention takes queries to where keys were compressed from.
#include <cstddef>

#include "engine/models/weights.h"

namespace servetwin {

StoredMatrix absorbed_keys(const ModelSpec& spec, const StoredMatrix& key_up) {
  const MlaSpec& mla = spec.mla;
  const Weights from = floats_of(key_up);
  Weights turned;
  turned.reserve(static_cast<std::size_t>(spec.heads * mla.kv_lora_rank * mla.qk_nope_head_dim));
  for (std::int64_t head = 0; head < spec.heads; ++head) {
    const std::int64_t first = head * (mla.qk_nope_head_dim + mla.v_head_dim);
    for (std::int64_t column = 0; column < mla.kv_lora_rank; ++column) {
      for (std::int64_t row = first; row < first + mla.qk_nope_head_dim; ++row) {
        turned.push_back(from[static_cast<std::size_t>(row * mla.kv_lora_rank + column)]);
      }
    }
  }
  return f32_matrix(spec.heads * mla.kv_lora_rank, mla.qk_nope_head_dim, turned);
}

}  // namespace servetwin
