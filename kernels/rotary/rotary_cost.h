// FLOPs and bytes of the rotary embedding of queries and keys, and of writing keys and values to the cache.
#pragma once

#include "engine/base/work.h"

namespace servetwin {

// Queries and keys are read and written; keys and values are then read and written once more, into the cache.
constexpr Work rotary_work(double rows, double query_width, double kv_width, double activation_bytes) {
  return {3.0 * rows * (query_width + kv_width),
          (2.0 * (query_width + kv_width) + 4.0 * kv_width) * rows * activation_bytes};
}

}  // namespace servetwin
