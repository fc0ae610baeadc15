// How a cache stores keys and values: number format, and what has a scale of its own.
#pragma once

#include <cstdint>

#include "engine/base/dtype.h"
#include "engine/base/units.h"
#include "engine/models/spec.h"

namespace servetwin {

// What a scale of an 8-bit cache is of. Those of tensors and heads belong to the layer, like a weight; the
// others lie in the cache beside what they scale.
enum class KvScales : std::uint8_t {
  kTensor,     // the keys of a layer, and the values
  kHead,       // one KV head's
  kToken,      // one token's, over all heads
  kTokenHead,  // one token's in one head: each vector has its own
};

struct KvFormat {
  DType dtype = DType::kBF16;
  KvScales scales = KvScales::kTensor;
};

// Whether elements of the format mean nothing without a scale.
constexpr bool is_scaled(DType dtype) { return dtype == DType::kI8 || dtype == DType::kF8E4M3; }

// Of one token in `layers` of the model's layers on one rank, with the scales that come with each token, four
// bytes each.
Bytes kv_token_bytes(const ModelSpec& model, const KvFormat& format, int tp, std::int64_t layers);

}  // namespace servetwin
