// Routed experts shared out over ranks: a token's hidden state goes to the ranks of its experts, and what
// they make of it comes back.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "engine/models/tensor_parallel.h"
#include "engine/models/weights.h"
#include "kernels/collectives/communicator.h"
#include "kernels/moe/grouped_experts.h"

namespace servetwin {

// Three all-to-alls a layer: how many pairs of a token and an expert go to each rank; the pairs, 4 bytes of
// expert and a hidden state each; their results. Every rank takes part, also one that has no tokens of its
// own or whose experts nobody chose: its messages are empty then.
class ExpertExchange {
 public:
  // The group must outlive it.
  ExpertExchange(const ModelSpec& spec, Communicator& group);

  // As grouped_experts() with the experts of all ranks, bit for bit; `experts` are those of expert_share().
  // Tokens, input and output are this rank's own.
  void run(const DenseWeights& experts,
           const RoutedTokens& routed,
           const float* input,
           float* output,
           ThreadTeam& team);

 private:
  void sort_pairs(const RoutedTokens& routed);
  void exchange_counts();
  // Each pair's state, this rank's first to last by the rank of its expert.
  void dispatch(const RoutedTokens& routed, const float* input);
  void compute(const DenseWeights& experts, ThreadTeam& team);
  void combine(const RoutedTokens& routed, float* output);

  std::int64_t hidden_;
  std::int64_t experts_;
  Communicator& group_;
  RankPlace place_;
  std::vector<std::int64_t> pairs_;  // of token and choice, by the rank of the expert
  std::vector<std::size_t> sent_;    // pairs by rank
  std::vector<std::size_t> received_;
  std::vector<std::byte> outgoing_;
  std::vector<std::byte> incoming_;
  std::vector<std::int32_t> ids_;  // of what came, among this rank's experts
  std::vector<float> states_;
  std::vector<float> results_;
  std::vector<float> returned_;  // in the order of pairs_
};

}  // namespace servetwin
