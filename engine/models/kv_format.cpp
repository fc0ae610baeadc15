// Elements by number format, and a scale for each vector or for all of a token's.
#include "engine/models/kv_format.h"

namespace servetwin {

Bytes kv_token_bytes(const ModelSpec& model, const KvFormat& format, int tp, std::int64_t layers) {
  constexpr std::int64_t kScaleBytes = 4;
  ModelSpec part = model;
  part.layers = layers;
  const std::int64_t kinds = model.is_mla() ? 1 : 2;  // keys and values, or latents
  const std::int64_t heads = model.is_mla() ? 1 : kv_heads_per_rank(model, tp);
  std::int64_t scales = 0;  // a layer
  if (is_scaled(format.dtype) && format.scales == KvScales::kToken) scales = kinds;
  if (is_scaled(format.dtype) && format.scales == KvScales::kTokenHead) scales = kinds * heads;
  return kv_bytes_per_token(part, format.dtype, tp) + Bytes{kScaleBytes * scales * layers};
}

}  // namespace servetwin
