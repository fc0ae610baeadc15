// The smallest Llama that is one: a layer, grouped queries.
#pragma once

#include "engine/models/spec.h"

namespace servetwin {

inline ModelSpec tiny_llama(std::int64_t vocab, std::int64_t max_position) {
  ModelSpec spec;
  spec.arch = "LlamaForCausalLM";
  spec.layers = 1;
  spec.hidden = 16;
  spec.heads = 2;
  spec.kv_heads = 1;
  spec.head_dim = 8;
  spec.intermediate = 24;
  spec.vocab = vocab;
  spec.max_position = max_position;
  return spec;
}

}  // namespace servetwin
