// Which experts a token goes to, and how much each counts. Cost: router_cost.h.
#pragma once

#include <cstdint>

namespace servetwin {

enum class RouterScore : std::uint8_t { kSoftmax, kSigmoid };

// What stands for a group of experts when groups are chosen.
enum class GroupScore : std::uint8_t {
  kMaximum,  // DeepSeek-V2
  kTopTwo    // DeepSeek-V3: the sum of the two largest
};

struct RouterOptions {
  std::int64_t experts = 0;
  std::int64_t top_k = 0;
  RouterScore score = RouterScore::kSoftmax;
  bool renormalise = false;     // the chosen weights are divided by their sum
  float factor = 1;             // of the weights, at the end
  std::int64_t groups = 1;      // equal parts of the experts, one after the other
  std::int64_t top_groups = 1;  // experts of the other groups are not chosen
  GroupScore group_score = GroupScore::kMaximum;
};

// logits[tokens][experts]; correction[experts], added to the scores by which experts are chosen but not to
// their weights, or null. ids and weights [tokens][top_k]: the largest score first, of equal ones the lower
// id. A token's result depends on its own logits alone.
void route(const RouterOptions& options,
           const float* logits,
           const float* correction,
           std::int64_t tokens,
           std::int32_t* ids,
           float* weights);

}  // namespace servetwin
