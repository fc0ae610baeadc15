// Attention in one call with prompts is looked up as it was measured: a chunk beside decode rows.
#include "costmodels/layer_pricer.h"

#include <algorithm>
#include <utility>

#include "costmodels/numbers.h"

namespace servetwin {

LayerPricer::LayerPricer(LayerTimes times, const EngineTimes& engine, const ModelSpec& model)
    : times_(std::move(times)), engine_(engine), layers_(real(model.layers)), vocab_(real(model.vocab)) {}

ContextLine LayerPricer::decode_line(const StepShape& shape) const {
  const double rows = real(shape.decode_sequences);
  const auto piece = times_.attention.piece_of(real(shape.decode_context) / rows);
  StepShape start = shape;
  start.decode_context = 0;
  ContextLine line;
  line.host_ns = engine_.overlap * host_ns(shape);
  const double at_start = attention_ns(0, 0, rows, piece[0]);
  line.slope_ns = (attention_ns(0, 0, rows, piece[0] + 1) - at_start) / rows;
  for (const OpCost& op : operations(start)) line.base_ns += op.ns;
  line.base_ns += at_start - attention_ns(0, 0, rows, 0) - line.slope_ns * piece[0] * rows;
  line.from = piece[0] * rows;
  line.until = piece[1] * rows;
  return line;
}

double LayerPricer::token_ns(const char* name, double tokens) const {
  return 1e3 * times_.by_tokens.at(name).at(tokens);
}

double LayerPricer::attention_ns(double chunk, double cached, double rows, double context) const {
  return 1e3 * layers_ * times_.attention.at({chunk, cached, rows, context});
}

// Several prompts are one chunk of their mean length, as often as it takes; only the first pays the base.
double LayerPricer::prefill_ns(const StepShape& shape, double rows, double context) const {
  const double tokens = real(shape.prefill_tokens);
  const double chunk = real(shape.prefill_q_squared) / tokens;
  const double cached = real(shape.prefill_q_context) / tokens;
  const double alone = rows > 0 ? attention_ns(0, 0, rows, context) : 0;
  const double one = attention_ns(chunk, cached, rows, context);
  const double base = attention_ns(0, 0, 1, 1);
  return one + std::max(0.0, tokens / chunk - 1) * std::max(0.0, one - std::max(alone, base));
}

double LayerPricer::host_ns(const StepShape& shape) const {
  double ns = as_ns(engine_.step) + real(shape.sequences) * as_ns(engine_.sequence) +
              real(shape.new_sequences) * as_ns(engine_.new_sequence);
  if (shape.prefill_sequences > 0) ns += as_ns(engine_.prefill_step);
  return ns;
}

std::array<OpCost, kNumOpClasses> LayerPricer::operations(const StepShape& shape) const {
  std::array<OpCost, kNumOpClasses> ops{};
  const auto add = [&](OpClass op, double ns, Evidence evidence = Evidence::kInterpolated) {
    OpCost& cost = ops[static_cast<std::size_t>(op)];
    cost.ns += ns;
    cost.evidence = evidence;
    if (cost.ns > 0) cost.bound = Bound::kOverhead;
  };
  const double tokens = real(std::max(shape.tokens, shape.graph_size));
  const double sampled = real(shape.sampled_rows);
  const double rows = real(shape.decode_sequences);
  const double context = rows > 0 ? real(shape.decode_context) / rows : 0;
  for (const char* name : {"qkv_proj", "o_proj", "gate_up_proj", "down_proj"})
    add(OpClass::kGemm, layers_ * token_ns(name, tokens));
  add(OpClass::kNorm, layers_ * (2 * token_ns("layernorm", tokens) + token_ns("act_fn", tokens) +
                                 token_ns("rotary_emb", tokens)));
  add(OpClass::kNorm, token_ns("embedding", tokens) + token_ns("final_layernorm", tokens));
  if (shape.prefill_sequences > 0)
    add(OpClass::kAttentionPrefill, prefill_ns(shape, rows, context));
  else
    add(OpClass::kAttentionDecode, attention_ns(0, 0, rows, context));
  if (sampled > 0) {
    add(OpClass::kGemm, 1e3 * times_.by_sequences.at("lm_head").at(sampled));
    const auto sampler = times_.by_sequences.find("sampler");
    if (sampler != times_.by_sequences.end()) add(OpClass::kSampling, 1e3 * sampler->second.at(sampled));
    add(OpClass::kSampling, as_ns(engine_.sampling) + engine_.sampling_logit_ns * sampled * vocab_);
  }
  add(OpClass::kLaunch, layers_ * as_ns(engine_.layer), Evidence::kExtrapolated);
  if (shape.prefill_sequences > 0) add(OpClass::kLaunch, layers_ * as_ns(engine_.prefill_layer));
  const double host = host_ns(shape);
  add(OpClass::kHost, engine_.overlap * host, Evidence::kExtrapolated);
  add(OpClass::kLaunch, (1 - engine_.overlap) * host, Evidence::kExtrapolated);
  return ops;
}

}  // namespace servetwin
