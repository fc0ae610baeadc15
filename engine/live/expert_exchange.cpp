// Pairs are sent in order of their tokens, and added in the order of each token's choices.
#include "engine/live/expert_exchange.h"

#include <algorithm>
#include <cstring>
#include <numeric>
#include <span>

namespace servetwin {
namespace {

std::vector<std::size_t> times(const std::vector<std::size_t>& counts, std::size_t bytes) {
  std::vector<std::size_t> sizes;
  for (const std::size_t count : counts) sizes.push_back(count * bytes);
  return sizes;
}

std::size_t sum(const std::vector<std::size_t>& counts) {
  return std::accumulate(counts.begin(), counts.end(), std::size_t{0});
}

}  // namespace

ExpertExchange::ExpertExchange(const ModelSpec& spec, Communicator& group)
    : hidden_(spec.hidden),
      experts_(spec.moe.num_experts),
      group_(group),
      place_{group.rank(), group.size()} {}

void ExpertExchange::run(const DenseWeights& experts,
                         const RoutedTokens& routed,
                         const float* input,
                         float* output,
                         ThreadTeam& team) {
  sort_pairs(routed);
  exchange_counts();
  dispatch(routed, input);
  compute(experts, team);
  combine(routed, output);
}

void ExpertExchange::sort_pairs(const RoutedTokens& routed) {
  pairs_.clear();
  sent_.clear();
  for (int rank = 0; rank < place_.size; ++rank) {
    const RankShare share = expert_share(experts_, {rank, place_.size});
    const std::size_t before = pairs_.size();
    for (std::int64_t pair = 0; pair < routed.tokens * routed.top_k; ++pair) {
      if (share.has(routed.ids[pair])) pairs_.push_back(pair);
    }
    sent_.push_back(pairs_.size() - before);
  }
}

void ExpertExchange::exchange_counts() {
  std::vector<std::int32_t> mine(sent_.begin(), sent_.end());
  std::vector<std::int32_t> theirs(mine.size());
  const std::vector<std::size_t> sizes(mine.size(), sizeof(std::int32_t));
  group_.all_to_all(std::as_bytes(std::span(mine)), sizes, std::as_writable_bytes(std::span(theirs)), sizes);
  received_.assign(theirs.begin(), theirs.end());
}

void ExpertExchange::dispatch(const RoutedTokens& routed, const float* input) {
  const auto row = static_cast<std::size_t>(hidden_) * sizeof(float);
  const std::size_t bytes = sizeof(std::int32_t) + row;
  outgoing_.resize(pairs_.size() * bytes);
  std::byte* to = outgoing_.data();
  for (const std::int64_t pair : pairs_) {
    std::memcpy(to, routed.ids + pair, sizeof(std::int32_t));
    std::memcpy(to + sizeof(std::int32_t), input + pair / routed.top_k * hidden_, row);
    to += bytes;
  }
  const std::size_t count = sum(received_);
  incoming_.resize(count * bytes);
  group_.all_to_all(outgoing_, times(sent_, bytes), incoming_, times(received_, bytes));
  ids_.resize(count);
  states_.resize(count * static_cast<std::size_t>(hidden_));
  const auto first = static_cast<std::int32_t>(expert_share(experts_, place_).first);
  for (std::size_t i = 0; i < count; ++i) {
    std::memcpy(&ids_[i], incoming_.data() + i * bytes, sizeof(std::int32_t));
    ids_[i] -= first;
    std::memcpy(states_.data() + i * static_cast<std::size_t>(hidden_),
                incoming_.data() + i * bytes + sizeof(std::int32_t), row);
  }
}

// One expert a row, with weight one: the token's own rank weighs and adds.
void ExpertExchange::compute(const DenseWeights& experts, ThreadTeam& team) {
  results_.resize(states_.size());
  if (ids_.empty()) return;
  const std::vector<float> ones(ids_.size(), 1.0F);
  const ExpertWeights stacks{experts.gate.view(), experts.up.view(), experts.down.view(),
                             expert_share(experts_, place_).count};
  grouped_experts(stacks, {static_cast<std::int64_t>(ids_.size()), 1, ids_.data(), ones.data()},
                  states_.data(), results_.data(), team);
}

void ExpertExchange::combine(const RoutedTokens& routed, float* output) {
  const auto row = static_cast<std::size_t>(hidden_) * sizeof(float);
  returned_.resize(pairs_.size() * static_cast<std::size_t>(hidden_));
  group_.all_to_all(std::as_bytes(std::span(results_)), times(received_, row),
                    std::as_writable_bytes(std::span(returned_)), times(sent_, row));
  std::vector<const float*> result_of(pairs_.size());
  for (std::size_t i = 0; i < pairs_.size(); ++i) {
    result_of[static_cast<std::size_t>(pairs_[i])] = returned_.data() + i * static_cast<std::size_t>(hidden_);
  }
  std::fill_n(output, routed.tokens * hidden_, 0.0F);
  for (std::size_t pair = 0; pair < result_of.size(); ++pair) {
    float* to = output + static_cast<std::int64_t>(pair) / routed.top_k * hidden_;
    for (std::int64_t i = 0; i < hidden_; ++i) to[i] += routed.weights[pair] * result_of[pair][i];
  }
}

}  // namespace servetwin
