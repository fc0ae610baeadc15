// Which elements of a head turn together.
#pragma once

#include <cstdint>

namespace servetwin {

enum class RotaryLayout : std::uint8_t {
  kNeox,        // pairs (i, i + half): Llama as published by Hugging Face, Qwen, Mistral
  kInterleaved  // pairs (2i, 2i + 1): GPT-J, Llama as published by Meta
};

}  // namespace servetwin
