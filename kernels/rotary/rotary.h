// Rotary position embedding of queries or keys, in place. Cost: rotary_cost.h.
#pragma once

#include <cstdint>

#include "kernels/rotary/frequencies.h"

namespace servetwin {

enum class RotaryLayout : std::uint8_t {
  kNeox,        // pairs (i, i + half): Llama as published by Hugging Face, Qwen, Mistral
  kInterleaved  // pairs (2i, 2i + 1): GPT-J, Llama as published by Meta
};

// heads[tokens][num_heads][2 · speeds]; positions[tokens].
void rotary(const RotaryFrequencies& frequencies,
            RotaryLayout layout,
            const std::int32_t* positions,
            std::int64_t tokens,
            std::int64_t num_heads,
            float* heads);

}  // namespace servetwin
