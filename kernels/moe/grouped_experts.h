// Experts on the tokens that were routed to them. Cost: grouped_experts_cost.h.
#pragma once

#include <cstdint>

#include "engine/base/weight_matrix.h"
#include "kernels/thread_team.h"

namespace servetwin {

// The matrices of all experts one below the other.
struct ExpertWeights {
  WeightMatrix gate;  // [experts · width][hidden]
  WeightMatrix up;
  WeightMatrix down;  // [experts · hidden][width]
  std::int64_t experts = 0;
};

// Experts of each token and their weights, [tokens][top_k]. A token has an expert once.
struct RoutedTokens {
  std::int64_t tokens = 0;
  std::int64_t top_k = 0;
  const std::int32_t* ids = nullptr;
  const float* weights = nullptr;
};

// output[token] = Σ over its experts, in the order of `ids`, of weight · down(silu(gate) · up). Input and
// output: [tokens][hidden], apart. The order of the sum is the token's own, so its result does not depend on
// the batch.
void grouped_experts(const ExpertWeights& weights,
                     const RoutedTokens& routed,
                     const float* input,
                     float* output,
                     ThreadTeam& team);

}  // namespace servetwin
