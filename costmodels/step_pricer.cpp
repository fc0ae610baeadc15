// The structure was found by others to reproduce served latencies (docs/cost-models.md); its parts are
// measured kernels, so nothing here is fitted but the engine's own times.
#include "costmodels/step_pricer.h"

#include <algorithm>

#include "costmodels/numbers.h"
#include "engine/base/det_math.h"
#include "kernels/collectives/all_reduce_cost.h"
#include "kernels/gemm/gemm_cost.h"
#include "kernels/moe/grouped_experts_cost.h"
#include "kernels/sampling/sampling_cost.h"

namespace servetwin {
namespace {

constexpr std::int64_t kDefaultTokens = 8192;
constexpr std::int64_t kDefaultRows = 1024;
// Of a row's vocabulary entry: a copy in 32 bits and the search for the largest; assumed.
constexpr double kGreedyLogitNs = 0.01;

}  // namespace

StepPricer::StepPricer(const StepPricerParts& parts, const OperatorTimes& operators)
    : operators_(operators),
      engine_(parts.engine),
      layout_(parts.layout),
      evidence_(operators.evidence()),
      collective_evidence_(operators.collective_evidence(parts.layout.tp)),
      products_(layer_products(*parts.model, parts.layout)),
      head_(head_product(*parts.model, parts.layout)),
      experts_(expert_layers(*parts.model, parts.layout)),
      windows_(parts.windows) {
  const ModelSpec& model = *parts.model;
  const int ranks = layout_.tp / layout_.attention_dp;
  weight_bytes_ = bits_per_element(parts.choice.weights) / 8;
  layers_ = real(model.layers);
  hidden_ = real(model.hidden);
  vocab_ = real(model.vocab);
  attention_ = {real(model.heads) / ranks, real(kv_heads_per_rank(model, ranks)),
                real(model.head_dim),      bits_per_element(parts.choice.kv) / 8,
                kActivationBytes,          0};
  latent_ = model.mla;
  if (parts.greedy) engine_.sampling_logit_ns = std::min(engine_.sampling_logit_ns, kGreedyLogitNs);
  balance_ = parts.device->memory_bandwidth.value / parts.device->peak.bf16.value;
  make_curves(parts, operators);
}

void StepPricer::make_curves(const StepPricerParts& parts, const OperatorTimes& operators) {
  const ModelSpec& model = *parts.model;
  const double byte_ns =
      1e9 / (parts.device->memory_bandwidth.value * parts.device->efficiency.elementwise_memory);
  const double dp = layout_.attention_dp;
  const std::int64_t tokens = parts.limits.tokens > 0 ? parts.limits.tokens : kDefaultTokens;
  const std::int64_t rows = parts.limits.sequences > 0 ? parts.limits.sequences : kDefaultRows;
  gemm_ = TokenCurve(tokens, [&](double t) {
    double ns = 0;
    for (const LayerProduct& one : products_)
      ns += one.count * operators.product(one.attention ? t : t * dp, one);
    return ns;
  });
  // Norms and residuals, queries and keys that turn, the activation between the products.
  const double width =
      experts_.count > 0 ? experts_.width * experts_.top_k : real(model.intermediate) / layout_.tp;
  const double heads = (attention_.heads + 2 * attention_.kv_heads) * attention_.head_dim;
  elementwise_ = TokenCurve(
      tokens, [&](double t) { return layers_ * 2 * t * (8 * hidden_ + 3 * heads + 3 * width) * byte_ns; });
  moe_ = TokenCurve(tokens, [&](double t) { return experts_.count * operators.experts(t * dp, experts_); });
  const int attention_ranks = layout_.tp / layout_.attention_dp;
  collectives_ = TokenCurve(tokens, [&](double t) {
    if (layout_.tp <= 1 || t <= 0) return 0.0;
    const double bytes = t * hidden_ * kActivationBytes;
    const double skew = as_ns(engine_.all_reduce_skew);
    double ns = 0;
    if (attention_ranks > 1) ns += (layers_ + 1) * (operators.all_reduce(bytes, attention_ranks) + skew);
    return ns + layers_ * (operators.all_reduce(bytes * dp, layout_.tp) + skew);
  });
  head_time_ = TokenCurve(rows, [&](double r) { return operators.product(r, head_); });
  gather_ = TokenCurve(
      rows, [&](double r) { return operators.all_gather(r * vocab_ * kActivationBytes, layout_.tp); });
  const std::int64_t context = parts.limits.context > 0 ? parts.limits.context : model.max_position;
  const auto decode_of = [&](std::int64_t layers, std::int64_t longest) {
    const double count = real(layers);
    return DecodeSurface(
        rows, longest, [&, count](double r, double c) { return count * operators.decode(attention_, r, c); });
  };
  decode_ = decode_of(windows_.whole, context);
  if (windows_.windowed > 0) windowed_decode_ = decode_of(windows_.windowed, windows_.window);
}

double StepPricer::host_ns(const StepShape& shape) const {
  double ns = as_ns(engine_.step) + real(shape.sequences) * as_ns(engine_.sequence) +
              real(shape.new_sequences) * as_ns(engine_.new_sequence);
  if (shape.prefill_sequences > 0) ns += as_ns(engine_.prefill_step);
  return ns;
}

double StepPricer::launch_ns(const StepShape& shape, double device_ns) const {
  double ns = layers_ * as_ns(engine_.layer);
  if (shape.prefill_sequences > 0) ns += layers_ * as_ns(engine_.prefill_layer);
  if (shape.graph_size == 0) ns += std::max(0.0, layers_ * as_ns(engine_.eager_layer) - device_ns);
  return ns;
}

// Rows of different lengths are as many of their mean length, each token weighing the same.
double StepPricer::prefill_ns(const StepShape& shape) const {
  const double tokens = real(shape.prefill_tokens);
  const double each = real(shape.prefill_q_squared) / tokens;
  const double cached = real(shape.prefill_q_context) / tokens;
  const double whole = real(windows_.whole) * operators_.prefill(attention_, tokens / each, each, cached);
  return windows_.windowed > 0 ? whole + windowed_prefill_ns(shape) : whole;
}

// A band is as many rows as it takes of a window's length each, behind so many cached tokens that all pairs
// come out. Where no row reaches the window, these are the rows themselves.
double StepPricer::windowed_prefill_ns(const StepShape& shape) const {
  const double tokens = real(shape.prefill_tokens);
  const double each = std::min(real(shape.prefill_q_squared) / tokens, real(windows_.window));
  const double cached = std::max(0.0, real(shape.window_pairs) / tokens - 0.5 * (each + 1));
  return real(windows_.windowed) * operators_.prefill(attention_, tokens / each, each, cached);
}

// With prompts in the step the call is theirs.
double StepPricer::windowed_decode_ns(const StepShape& shape) const {
  if (windows_.windowed == 0) return 0;
  const double keys = real(shape.window_context);
  const double call = shape.prefill_sequences > 0 ? windowed_decode_.line(1, 1).at(1) : 0;
  return std::max(0.0, windowed_decode_.line(shape.decode_sequences, keys).at(keys) - call);
}

// All heads of a row read one latent vector a token: scores over latent and rotary part, values over the
// latent.
Work StepPricer::layer_decode_work(double rows, double keys) const {
  if (latent_.kv_lora_rank == 0) return attention_decode_work(attention_, rows, keys);
  const double latent = real(latent_.kv_lora_rank);
  const double key = latent + real(latent_.qk_rope_head_dim);
  return {2.0 * attention_.heads * (key + latent) * keys, key * attention_.kv_bytes * keys};
}

Work StepPricer::decode_work(const StepShape& shape) const {
  const double rows = real(shape.decode_sequences);
  return real(windows_.whole) * layer_decode_work(rows, real(shape.decode_context)) +
         real(windows_.windowed) * layer_decode_work(rows, real(shape.window_context));
}

Work StepPricer::layer_prefill_work(const StepShape& shape, double pairs, double keys) const {
  const double tokens = real(shape.prefill_tokens);
  if (latent_.kv_lora_rank > 0) {
    const double key = real(latent_.qk_nope_head_dim + latent_.qk_rope_head_dim);
    const double value = real(latent_.v_head_dim);
    return {2.0 * attention_.heads * (key + value) * pairs, 2.0 * tokens * attention_.heads * (key + value)};
  }
  return attention_pairs_work(attention_, tokens, pairs, keys);
}

Work StepPricer::prefill_work(const StepShape& shape) const {
  const double pairs =
      real(shape.prefill_q_context) + 0.5 * real(shape.prefill_q_squared + shape.prefill_tokens);
  const std::int64_t keys = std::min(shape.prefill_q_context, shape.prefill_sequences * shape.max_context);
  const std::int64_t seen = std::min(keys, shape.prefill_sequences * windows_.window);
  return real(windows_.whole) * layer_prefill_work(shape, pairs, real(keys)) +
         real(windows_.windowed) * layer_prefill_work(shape, real(shape.window_pairs), real(seen));
}

Work StepPricer::product_work(double tokens) const {
  Work work;
  for (const LayerProduct& one : products_) {
    const double t = one.attention ? tokens : tokens * layout_.attention_dp;
    work =
        work + one.count * gemm_work({t, one.n, one.k}, one.quantised ? weight_bytes_ : 2, kActivationBytes);
  }
  return work;
}

Work StepPricer::expert_work(double tokens) const {
  const double routed = tokens * layout_.attention_dp;
  const double pairs = routed * experts_.top_k / experts_.ranks;
  // Expected, where tokens choose independently.
  const double missed = det_pow(1 - experts_.top_k / experts_.experts, routed);
  const double touched = experts_.experts / experts_.ranks * (1 - missed);
  return experts_.count *
         grouped_experts_work({hidden_, experts_.width, weight_bytes_, kActivationBytes}, pairs, touched);
}

std::array<OpCost, kNumOpClasses> StepPricer::price(const StepShape& shape) const {
  std::array<OpCost, kNumOpClasses> ops{};
  const auto set = [&](OpClass op, double ns, Work work, Evidence evidence) {
    OpCost& cost = ops[static_cast<std::size_t>(op)];
    cost.ns += ns;
    cost.flops += work.flops;
    cost.bytes += work.bytes;
    if (cost.ns <= 0) return;
    cost.evidence = evidence;
    cost.bound = work.bytes <= 0 && work.flops <= 0
                     ? Bound::kOverhead
                     : (cost.flops * balance_ > cost.bytes ? Bound::kCompute : Bound::kMemory);
  };
  check_window(windows_, shape);
  // No kernel was measured with a window: its time is that of fewer keys.
  const Evidence attention = windows_.windowed > 0 ? Evidence::kExtrapolated : evidence_;
  const std::int64_t padded = std::max(shape.tokens, shape.graph_size);
  const double tokens = real(padded);
  const double gemm = gemm_.at(padded);
  set(OpClass::kGemm, gemm, product_work(tokens), evidence_);
  set(OpClass::kNorm, elementwise_.at(padded), {0, tokens * hidden_ * layers_ * 16}, Evidence::kAnalytic);
  if (experts_.count > 0) set(OpClass::kMoe, moe_.at(padded), expert_work(tokens), evidence_);
  set(OpClass::kLaunch, launch_ns(shape, gemm + moe_.at(padded)), {}, Evidence::kExtrapolated);
  if (shape.sampled_rows > 0) {
    const double rows = real(shape.sampled_rows);
    set(OpClass::kGemm, head_time_.at(shape.sampled_rows),
        gemm_work({rows, head_.n, head_.k}, kActivationBytes, kActivationBytes), evidence_);
    set(OpClass::kSampling, as_ns(engine_.sampling) + engine_.sampling_logit_ns * rows * vocab_,
        sampling_work(rows, vocab_, kSamplingPasses), Evidence::kExtrapolated);
  }
  if (layout_.tp > 1) {
    const double ranks = layout_.tp;
    const double sent = (2 * layers_ + 1) * all_reduce_sent_bytes(tokens * hidden_ * kActivationBytes, ranks);
    set(OpClass::kCollective, collectives_.at(padded) + gather_.at(shape.sampled_rows), {0, sent},
        collective_evidence_);
  }
  if (shape.prefill_sequences > 0)
    set(OpClass::kAttentionPrefill, prefill_ns(shape), prefill_work(shape), attention);
  if (shape.decode_sequences > 0) {
    DecodeLine line = decode_keys(shape);
    // In one call with prompts decode rows pay for their keys, not for the call.
    const double call = shape.prefill_sequences > 0 ? decode_.line(1, 1).at(1) : 0;
    set(OpClass::kAttentionDecode,
        std::max(line.base - call, -line.slope * line.from) + windowed_decode_ns(shape), {}, attention);
  }
  const double host = host_ns(shape);
  set(OpClass::kHost, engine_.overlap * host, {}, Evidence::kExtrapolated);
  set(OpClass::kLaunch, (1 - engine_.overlap) * host, {}, Evidence::kExtrapolated);
  return ops;
}

double StepPricer::base_ns(const StepShape& shape) const {
  double sum = 0;
  for (const OpCost& op : price(shape)) sum += op.ns;
  return sum;
}

}  // namespace servetwin
