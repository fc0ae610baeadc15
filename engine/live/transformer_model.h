// A decoder of any family described by a ModelSpec, on the CPU: from a step's tokens to logits.
#pragma once

#include <cstdint>
#include <vector>

#include "engine/decoding/sampling_params.h"
#include "engine/live/attention_part.h"
#include "engine/live/feed_forward_part.h"
#include "engine/live/kv_pool.h"
#include "engine/live/latent_attention_part.h"
#include "engine/live/step_batch.h"
#include "engine/live/tensor_ranks.h"
#include "engine/models/weights.h"
#include "kernels/norm/rms_norm.h"
#include "kernels/thread_team.h"

namespace servetwin {

// Weights are shared between replicas; buffers are its own. A logits row is bit-equal however the prompt was
// chunked, whatever else is in the batch and however many threads compute it. With a group it is one rank of
// several, each with its part of the weights: then the row is so for that number of ranks.
class TransformerModel {
 public:
  // `longest` is the longest sequence that will be served. Weights must outlive the model. `cpus` as for
  // ThreadTeam. Of a rank, `spec` and `weights` are those of tensor_parallel.h; all ranks of the group make
  // the same calls. The group must outlive the model.
  TransformerModel(const ModelSpec& spec,
                   const ModelWeights& weights,
                   Tokens longest,
                   int threads,
                   const std::vector<int>& cpus = {},
                   Communicator* group = nullptr,
                   const SplitLayout& layout = {});
  TransformerModel(const TransformerModel&) = delete;
  TransformerModel& operator=(const TransformerModel&) = delete;

  // Runs the step: `tokens` are those of all rows, packed. Returns [sampled rows][vocab], in row order, valid
  // until the next call, on every rank. Throws CollectiveError when another rank does not come.
  const float* forward(const StepBatch& batch, const std::vector<TokenId>& tokens, KvPool& cache);

  const ModelSpec& spec() const { return spec_; }
  // Of all calls of forward(): matrix products and attention, as their kernels counted.
  std::int64_t flops() const { return team_.flops(); }

 private:
  void start(const StepBatch& batch, const std::vector<TokenId>& tokens);
  void run_layer(std::int64_t index, const StepContext& step, const PagedCache& cache);
  void normalise(const Weights& weight);
  void add_and_normalise(const Weights& weight);
  const float* logits(const StepBatch& batch);

  ModelSpec spec_;
  const ModelWeights& weights_;
  TensorRanks ranks_;
  AttentionPart attention_;
  LatentAttentionPart latent_attention_;
  FeedForwardPart feed_forward_;
  ThreadTeam team_;
  RmsNormOptions norm_;
  std::vector<std::int32_t> positions_;
  std::vector<float> residual_;  // of the rank's own tokens
  std::vector<float> hidden_;    // input of the next part, or its output to be added
  std::vector<float> last_;      // hidden states of the sampled rows
  std::vector<float> logits_;
};

}  // namespace servetwin
