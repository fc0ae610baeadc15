// Rotary position embedding of queries or keys, in place. Cost: rotary_cost.h.
#pragma once

#include <cstdint>

#include "kernels/rotary/frequencies.h"
#include "kernels/rotary/rotary_layout.h"

namespace servetwin {

// What is turned: `num_heads` heads a token, `stride` elements apart, tokens one after the other. The first
// 2 · speeds elements of a head turn; the rest of the stride stays as it is.
struct RotatedHeads {
  float* values = nullptr;
  std::int64_t num_heads = 0;
  std::int64_t stride = 0;
};

// positions[tokens].
void rotary(const RotaryFrequencies& frequencies,
            RotaryLayout layout,
            const std::int32_t* positions,
            std::int64_t tokens,
            const RotatedHeads& heads);

}  // namespace servetwin
