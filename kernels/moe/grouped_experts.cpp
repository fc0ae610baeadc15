// Expert by expert: gather its tokens, three products, results back to their pairs; then a sum a token.
#include "kernels/moe/grouped_experts.h"

#include <algorithm>
#include <vector>

#include "kernels/activation/silu_and_mul.h"
#include "kernels/gemm/matmul.h"

namespace servetwin {
namespace {

// One expert's share of a step.
class Expert {
 public:
  Expert(const ExpertWeights& weights, ThreadTeam& team)
      : weights_(weights), hidden_(weights.gate.columns), width_(weights.down.columns), team_(team) {}

  // Row i of the result is for row i of `rows`, each of them one token's input.
  const std::vector<float>& run(std::int64_t expert, const std::vector<const float*>& rows) {
    const auto count = static_cast<std::int64_t>(rows.size());
    input_.clear();
    for (const float* row : rows) input_.insert(input_.end(), row, row + hidden_);
    gate_.resize(static_cast<std::size_t>(count * width_));
    up_.resize(gate_.size());
    output_.resize(input_.size());
    const Product products[] = {{weights_.gate.slice(expert * width_, width_), nullptr, gate_.data()},
                                {weights_.up.slice(expert * width_, width_), nullptr, up_.data()}};
    matmul(products, count, input_.data(), team_);
    silu_and_mul(gate_.data(), up_.data(), count * width_);
    matmul({weights_.down.slice(expert * hidden_, hidden_), nullptr, output_.data()}, count, gate_.data(),
           team_);
    return output_;
  }

 private:
  const ExpertWeights& weights_;
  std::int64_t hidden_;
  std::int64_t width_;
  ThreadTeam& team_;
  std::vector<float> input_;
  std::vector<float> gate_;
  std::vector<float> up_;
  std::vector<float> output_;
};

}  // namespace

void grouped_experts(const ExpertWeights& weights,
                     const RoutedTokens& routed,
                     const float* input,
                     float* output,
                     ThreadTeam& team) {
  const std::int64_t hidden = weights.gate.columns;
  const std::int64_t pairs = routed.tokens * routed.top_k;
  std::vector<std::vector<std::int64_t>> pairs_of(static_cast<std::size_t>(weights.experts));
  for (std::int64_t pair = 0; pair < pairs; ++pair)
    pairs_of[static_cast<std::size_t>(routed.ids[pair])].push_back(pair);
  std::vector<float> results(static_cast<std::size_t>(pairs * hidden));
  Expert expert(weights, team);
  std::vector<const float*> rows;
  for (std::size_t id = 0; id < pairs_of.size(); ++id) {
    if (pairs_of[id].empty()) continue;
    rows.clear();
    for (const std::int64_t pair : pairs_of[id]) rows.push_back(input + pair / routed.top_k * hidden);
    const float* result = expert.run(static_cast<std::int64_t>(id), rows).data();
    for (const std::int64_t pair : pairs_of[id]) {
      std::copy_n(result, hidden, results.data() + pair * hidden);
      result += hidden;
    }
  }
  std::fill_n(output, routed.tokens * hidden, 0.0F);
  for (std::int64_t pair = 0; pair < pairs; ++pair) {
    float* sum = output + pair / routed.top_k * hidden;
    const float* result = results.data() + pair * hidden;
    for (std::int64_t i = 0; i < hidden; ++i) sum[i] += routed.weights[pair] * result[i];
  }
}

}  // namespace servetwin
