// Durations from a profiler's tables of one layer's operations, plus what the engine adds.
#include <algorithm>
#include <filesystem>
#include <string>

#include "costmodels/engine_set.h"
#include "costmodels/layer_times.h"
#include "costmodels/profile_text.h"
#include "costmodels/numbers.h"
#include "engine/base/registry.h"
#include "engine/models/spec.h"

namespace servetwin {
namespace {

class LayerTables final : public CostModel {
 public:
  struct Params {
    std::string tables;
    std::string engine;

    template <class Visitor>
    void fields(Visitor& v) {
      v("tables", tables, "What the names of dense.csv, attention.csv and per_sequence.csv begin with.",
        kRequired);
      v("engine", engine, "The engine's own times: a set of costmodels/engines.", kRequired);
    }
  };

  LayerTables(const Params& params, const CostContext& context)
      : times_(read_layer_times((std::filesystem::path(context.folder) / params.tables).string())) {
    check(context);
    layers_ = real(context.model->layers);
    vocab_ = real(context.model->vocab);
    engine_ = context.engine->times;
    describe_ = "layer tables: " + context.model->name + "; " + params_text(params) +
                "; engine: " + params_text(engine_);
    profile_hash_ = profile_hash_of(describe_ + ' ' + std::to_string(times_.hash));
  }

  Duration step_time(const StepInput& input) const override {
    const StepShape& shape = *input.shape;
    if (const auto line = decode_line(shape))
      return duration_from_ns(line->base_ns + line->slope_ns * real(shape.decode_context));
    double ns = 0;
    for (const OpCost& op : operations(shape)) ns += op.ns;
    return duration_from_ns(ns);
  }

  StepCost step(const StepInput& input) const override {
    return {operations(*input.shape), step_time(input)};
  }

  std::optional<ContextLine> decode_line(const StepShape& shape) const override {
    if (!shape.pure_decode()) return std::nullopt;
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

  Evidence evidence() const override { return Evidence::kInterpolated; }
  std::uint64_t profile_hash() const override { return profile_hash_; }
  std::string describe() const override { return describe_; }

 private:
  [[noreturn]] static void refuse(const char* path, const std::string& message, const std::string& remedy) {
    throw ConfigError(Problem{kCodeInconsistent, {}, path, message, remedy});
  }

  void check(const CostContext& context) const {
    if (context.model == nullptr) refuse("spec.model", "layer_tables needs a model", "");
    if (context.engine == nullptr) refuse("spec.cost.engine", "names no engine", "servetwin list engines");
    if (context.model->is_moe() || context.model->is_mla())
      refuse("spec.model", context.model->name + " has experts or latent attention", "use a dense model");
    if (context.tp != 1 || context.pp != 1)
      refuse("spec.layout", "tables of one rank hold no collectives", "use tp: 1, pp: 1");
    for (const char* name : {"qkv_proj", "o_proj", "gate_up_proj", "down_proj", "layernorm", "act_fn",
                             "rotary_emb", "embedding", "final_layernorm"}) {
      if (times_.by_tokens.count(name) == 0)
        refuse("spec.cost.tables", std::string("dense.csv has no ") + name, "use tables of a dense model");
    }
    if (times_.by_sequences.count("lm_head") == 0)
      refuse("spec.cost.tables", "per_sequence.csv has no lm_head", "");
  }

  double token_ns(const char* name, double tokens) const { return 1e3 * times_.by_tokens.at(name).at(tokens); }

  double attention_ns(double chunk, double cached, double rows, double context) const {
    return 1e3 * layers_ * times_.attention.at({chunk, cached, rows, context});
  }

  // Several prompts are one chunk of their mean length, as often as it takes; only the first pays the base.
  double prefill_ns(const StepShape& shape, double rows, double context) const {
    const double tokens = real(shape.prefill_tokens);
    const double chunk = real(shape.prefill_q_squared) / tokens;
    const double cached = real(shape.prefill_q_context) / tokens;
    const double alone = rows > 0 ? attention_ns(0, 0, rows, context) : 0;
    const double one = attention_ns(chunk, cached, rows, context);
    const double base = attention_ns(0, 0, 1, 1);
    return one + std::max(0.0, tokens / chunk - 1) * std::max(0.0, one - std::max(alone, base));
  }

  double host_ns(const StepShape& shape) const {
    double ns = as_ns(engine_.step) + real(shape.sequences) * as_ns(engine_.sequence) +
                real(shape.new_sequences) * as_ns(engine_.new_sequence);
    if (shape.prefill_sequences > 0) ns += as_ns(engine_.prefill_step);
    return ns;
  }

  std::array<OpCost, kNumOpClasses> operations(const StepShape& shape) const {
    std::array<OpCost, kNumOpClasses> ops{};
    const auto add = [&](OpClass op, double ns, Evidence evidence = Evidence::kInterpolated) {
      OpCost& cost = ops[static_cast<std::size_t>(op)];
      cost.ns += ns;
      cost.evidence = evidence;
      cost.bound = Bound::kOverhead;
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

  LayerTimes times_;
  EngineTimes engine_;
  double layers_ = 0;
  double vocab_ = 0;
  std::string describe_;
  std::uint64_t profile_hash_ = 0;
};

const Registered<CostModel, LayerTables> kLayerTables{
    "layer_tables", "A profiler's tables of one layer's operations, and an engine's own times."};

}  // namespace
}  // namespace servetwin
