// Attention of one layer: from hidden states to what is added to them, keys and values through the cache.
#pragma once

#include <vector>

#include "engine/live/rotary_tables.h"
#include "engine/live/step_context.h"
#include "kernels/attention/paged_attention.h"

namespace servetwin {

// The keys and values of the whole step are written before any row attends: a row may share blocks that
// another row of this step fills.
class AttentionPart {
 public:
  AttentionPart(const ModelSpec& spec, Tokens longest) : spec_(spec), rotary_(spec, longest) {}

  // Replaces `hidden`, [tokens][hidden].
  void run(const LayerWeights& weights,
           const LayerSpec& layer,
           const StepContext& step,
           const PagedCache& cache,
           std::vector<float>& hidden);

 private:
  void project(const LayerWeights& weights, const StepContext& step, const std::vector<float>& hidden);
  void turn(const LayerSpec& layer, const StepContext& step);

  const ModelSpec& spec_;
  RotaryTables rotary_;
  std::vector<float> queries_;
  std::vector<float> keys_;
  std::vector<float> values_;
  std::vector<float> attended_;
};

}  // namespace servetwin
