// Llama in f32 on the CPU: from a step's tokens to logits, keys and values going through the paged cache.
#pragma once

#include <cstdint>
#include <vector>

#include "engine/decoding/sampling_params.h"
#include "engine/live/kv_pool.h"
#include "engine/live/step_batch.h"
#include "engine/models/weights.h"
#include "kernels/norm/rms_norm.h"
#include "kernels/rotary/frequencies.h"
#include "kernels/thread_team.h"

namespace servetwin {

// Weights are shared between replicas; buffers are its own. A logits row is bit-equal however the prompt was
// chunked, whatever else is in the batch and however many threads compute it.
class LlamaModel {
 public:
  // `longest` is the longest sequence that will be served. Weights must outlive the model.
  LlamaModel(const ModelSpec& spec, const LlamaWeights& weights, Tokens longest, int threads);

  // Runs the step: `tokens` are those of all rows, packed. Returns [sampled rows][vocab], in row order, valid
  // until the next call.
  const float* forward(const StepBatch& batch, const std::vector<TokenId>& tokens, KvPool& cache);

  const ModelSpec& spec() const { return spec_; }

 private:
  void resize(std::int64_t tokens);
  void attend(const LlamaLayer& layer, const StepBatch& batch, const PagedCache& cache);
  void feed_forward(const LlamaLayer& layer);
  const float* logits(const StepBatch& batch);

  ModelSpec spec_;
  const LlamaWeights& weights_;
  RotaryFrequencies frequencies_;
  ThreadTeam team_;
  RmsNormOptions norm_;
  std::vector<std::int32_t> positions_;
  std::vector<float> residual_;
  std::vector<float> hidden_;  // input of the next part, or its output to be added
  std::vector<float> queries_;
  std::vector<float> keys_;
  std::vector<float> values_;
  std::vector<float> attended_;
  std::vector<float> gate_;
  std::vector<float> up_;
  std::vector<float> last_;  // hidden states of the sampled rows
  std::vector<float> logits_;
};

}  // namespace servetwin
