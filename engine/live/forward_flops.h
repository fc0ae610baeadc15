// FLOPs of the matrix products and of attention in a forward pass, by formula: what kernels count is held
// against it.
#pragma once

#include <cstdint>
#include <vector>

#include "engine/models/tensor_parallel.h"
#include "engine/models/weights.h"
#include "engine/serving/plan.h"

namespace servetwin {

// A multiply-add counts as two, a (query, key) pair only where the layer's window has it. Of one rank of
// several what its part of the weights computes; with expert parallelism the first rank's formula has the
// experts' part of all, since whose experts a token goes to is not known.
class ForwardFlops {
 public:
  // `model` is whole, `part` the rank's.
  ForwardFlops(const ModelSpec& model,
               const ModelWeights& part,
               RankPlace place = {},
               const SplitLayout& layout = {});

  // Each row's new tokens, over a cache of those before them.
  std::int64_t with_cache(const std::vector<StepRow>& rows) const;
  // Each row's whole sequence again.
  std::int64_t without_cache(const std::vector<StepRow>& rows) const;

 private:
  std::int64_t row(std::int64_t context, std::int64_t tokens, bool sampled) const;

  std::int64_t token_ = 0;             // through the matrices of all layers
  std::int64_t head_ = 0;              // of a sampled row
  std::int64_t pair_ = 0;              // of a query and a key, in one layer
  std::vector<std::int64_t> windows_;  // by layer; 0: none
};

// What a runner's steps took, and what the same steps would have taken otherwise.
struct FlopCount {
  std::int64_t computed = 0;  // as the kernels counted it
  std::int64_t with_cache = 0;
  std::int64_t without_cache = 0;

  FlopCount& operator+=(const FlopCount& other) {
    computed += other.computed;
    with_cache += other.with_cache;
    without_cache += other.without_cache;
    return *this;
  }
};

}  // namespace servetwin
