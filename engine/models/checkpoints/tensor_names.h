// Tensor names of Hugging Face and of GGUF for the families that are computed, and the order of rotated rows.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "engine/models/spec.h"

namespace servetwin {

// model.layers.3.self_attn.q_proj.weight → blk.3.attn_q.weight, for the model's family; empty for a name that
// is none of the families'. Experts bear one name for all: model.layers.3.mlp.experts.gate_proj.weight.
std::string gguf_tensor_name(const std::string& hugging_face_name, const ModelSpec& model);

// How the rows of queries and keys are ordered within a head. Hugging Face's order has the two halves of the
// rotated pairs one after the other; converters to GGUF put the two rows of a pair side by side for
// architecture "llama" (Llama, Mistral, Mixtral), and leave the order alone for the others.
struct RotatedRows {
  std::int64_t head_dim = 0;

  // The row of a GGUF tensor that is row `row` of Hugging Face's.
  std::int64_t gguf_row(std::int64_t row) const {
    const std::int64_t half = head_dim / 2;
    const std::int64_t within = row % head_dim;
    return row - within + 2 * (within % half) + within / half;
  }
};

// For a tensor by its Hugging Face name: the order, where the file of this architecture (the GGUF one) has
// another than Hugging Face.
std::optional<RotatedRows> gguf_row_order(const std::string& gguf_architecture,
                                          const std::string& hugging_face_name,
                                          const ModelSpec& model);

}  // namespace servetwin
