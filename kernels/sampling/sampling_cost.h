// FLOPs and bytes of choosing a token from each of `rows` rows of logits.
#pragma once

#include "engine/base/work.h"

namespace servetwin {

// `passes` times over a row of f32 logits: copy, penalties, temperature, softmax, sort and choice, as far as
// asked.
constexpr Work sampling_work(double rows, double vocab, double passes) {
  return {passes * rows * vocab, 4.0 * passes * rows * vocab};
}

}  // namespace servetwin
