// FLOPs and bytes of choosing experts from the router's logits.
#pragma once

#include "engine/base/work.h"

namespace servetwin {

// Reads the logits in f32, writes a 4-byte id and a 4-byte weight a chosen expert; the exponential, the sum,
// the division and one comparison a chosen expert count as a FLOP each.
constexpr Work router_work(double tokens, double experts, double top_k) {
  return {tokens * experts * (3.0 + top_k), tokens * (4.0 * experts + 8.0 * top_k)};
}

}  // namespace servetwin
