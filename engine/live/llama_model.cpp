// The layers in their published order; each kernel is in kernels/.
#include "engine/live/llama_model.h"

#include <algorithm>

#include "engine/base/check.h"
#include "kernels/activation/silu_and_mul.h"
#include "kernels/embedding/embedding.h"
#include "kernels/gemm/matmul.h"
#include "kernels/rotary/rotary.h"

namespace servetwin {
namespace {

RotaryScaling scaling_of(RopeType type) {
  switch (type) {
    case RopeType::kLinear:
      return RotaryScaling::kLinear;
    case RopeType::kDynamic:
      return RotaryScaling::kDynamicNtk;
    case RopeType::kYarn:
      return RotaryScaling::kYarn;
    case RopeType::kLlama3:
      return RotaryScaling::kLlama3;
    case RopeType::kDefault:
    case RopeType::kLongRope:
    case RopeType::kOther:
      break;
  }
  return RotaryScaling::kNone;
}

RotaryOptions rotary_options(const ModelSpec& spec, Tokens longest) {
  const RopeSpec& rope = spec.rope;
  RotaryOptions options;
  options.head_dim = spec.head_dim;
  options.theta = rope.theta;
  options.scaling = scaling_of(rope.type);
  options.factor = rope.factor;
  options.original_max_position =
      rope.original_max_position > 0 ? rope.original_max_position : static_cast<double>(spec.max_position);
  options.max_position = static_cast<double>(longest.value);
  options.low_freq_factor = rope.low_freq_factor;
  options.high_freq_factor = rope.high_freq_factor;
  options.beta_fast = rope.beta_fast;
  options.beta_slow = rope.beta_slow;
  return options;
}

const Weights kNoBias;

std::size_t elements(std::int64_t rows, std::int64_t width) { return static_cast<std::size_t>(rows * width); }

Product product(const StoredMatrix& weight, const Weights& bias, std::vector<float>& output) {
  return {weight.view(), bias.empty() ? nullptr : bias.data(), output.data()};
}

}  // namespace

LlamaModel::LlamaModel(const ModelSpec& spec, const LlamaWeights& weights, Tokens longest, int threads)
    : spec_(spec),
      weights_(weights),
      frequencies_(rotary_frequencies(rotary_options(spec, longest))),
      team_(threads) {
  const std::string reason = why_not_llama(spec);
  CHECK_INVARIANT(reason.empty(), reason);
}

void LlamaModel::resize(std::int64_t tokens) {
  norm_ = {tokens, spec_.hidden, static_cast<float>(spec_.norm_epsilon)};
  positions_.resize(static_cast<std::size_t>(tokens));
  residual_.resize(elements(tokens, spec_.hidden));
  hidden_.resize(elements(tokens, spec_.hidden));
  queries_.resize(elements(tokens, spec_.heads * spec_.head_dim));
  attended_.resize(elements(tokens, spec_.heads * spec_.head_dim));
  keys_.resize(elements(tokens, spec_.kv_heads * spec_.head_dim));
  values_.resize(elements(tokens, spec_.kv_heads * spec_.head_dim));
  gate_.resize(elements(tokens, spec_.intermediate));
  up_.resize(elements(tokens, spec_.intermediate));
}

const float* LlamaModel::forward(const StepBatch& batch, const std::vector<TokenId>& tokens, KvPool& cache) {
  const std::int64_t count = batch.num_tokens();
  CHECK_INVARIANT(static_cast<std::int64_t>(tokens.size()) == count, tokens.size(), count);
  resize(count);
  for (std::int64_t row = 0; row < batch.num_rows(); ++row) {
    const auto at = static_cast<std::size_t>(row);
    const std::int32_t first = static_cast<std::int32_t>(batch.rows[at].context.value);
    for (std::int32_t t = batch.cu_seqlens[at]; t < batch.cu_seqlens[at + 1]; ++t) {
      positions_[static_cast<std::size_t>(t)] = first + (t - batch.cu_seqlens[at]);
    }
  }
  embedding(weights_.embedding.view(), tokens.data(), count, residual_.data());
  bool first_layer = true;
  for (std::size_t index = 0; index < weights_.layers.size(); ++index) {
    const LlamaLayer& layer = weights_.layers[index];
    if (first_layer) {
      rms_norm(norm_, residual_.data(), layer.input_norm.data(), hidden_.data());
    } else {
      add_rms_norm(norm_, hidden_.data(), residual_.data(), layer.input_norm.data(), hidden_.data());
    }
    first_layer = false;
    attend(layer, batch, cache.layer(static_cast<std::int64_t>(index)));
    add_rms_norm(norm_, hidden_.data(), residual_.data(), layer.post_norm.data(), hidden_.data());
    feed_forward(layer);
  }
  add_rms_norm(norm_, hidden_.data(), residual_.data(), weights_.final_norm.data(), hidden_.data());
  return logits(batch);
}

// The keys and values of the whole step are written before any row attends: a row may share blocks that
// another row of this step fills.
void LlamaModel::attend(const LlamaLayer& layer, const StepBatch& batch, const PagedCache& cache) {
  const std::int64_t tokens = batch.num_tokens();
  const Product products[] = {product(layer.query, layer.query_bias, queries_),
                              product(layer.key, layer.key_bias, keys_),
                              product(layer.value, layer.value_bias, values_)};
  matmul(products, tokens, hidden_.data(), team_);
  rotary(frequencies_, RotaryLayout::kNeox, positions_.data(), tokens, spec_.heads, queries_.data());
  rotary(frequencies_, RotaryLayout::kNeox, positions_.data(), tokens, spec_.kv_heads, keys_.data());
  store_keys_values(cache, keys_.data(), values_.data(), batch.slots.data(), tokens);
  const RaggedRows rows{batch.num_rows(), batch.cu_seqlens.data(), batch.seq_lens.data(),
                        batch.block_tables.data(), batch.table_starts.data()};
  paged_attention(cache, rows, spec_.heads, queries_.data(), attended_.data(), team_);
  matmul(product(layer.output, kNoBias, hidden_), tokens, attended_.data(), team_);
}

void LlamaModel::feed_forward(const LlamaLayer& layer) {
  const Product products[] = {product(layer.gate, kNoBias, gate_), product(layer.up, kNoBias, up_)};
  matmul(products, norm_.rows, hidden_.data(), team_);
  silu_and_mul(gate_.data(), up_.data(), static_cast<std::int64_t>(gate_.size()));
  matmul(product(layer.down, kNoBias, hidden_), norm_.rows, gate_.data(), team_);
}

const float* LlamaModel::logits(const StepBatch& batch) {
  last_.clear();
  for (std::size_t row = 0; row < batch.rows.size(); ++row) {
    if (!batch.rows[row].sampled) continue;
    const auto from = hidden_.begin() + (batch.cu_seqlens[row + 1] - 1) * spec_.hidden;
    last_.insert(last_.end(), from, from + spec_.hidden);
  }
  const std::int64_t sampled = static_cast<std::int64_t>(last_.size()) / spec_.hidden;
  logits_.resize(elements(sampled, spec_.vocab));
  if (sampled > 0) matmul(product(weights_.output_head(), kNoBias, logits_), sampled, last_.data(), team_);
  return logits_.data();
}

}  // namespace servetwin
