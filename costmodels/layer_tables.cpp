// Durations from a profiler's tables of one layer's operations, plus what the engine adds.
#include <filesystem>
#include <optional>
#include <string>
#include <utility>

#include "costmodels/engine_set.h"
#include "costmodels/layer_pricer.h"
#include "costmodels/numbers.h"
#include "costmodels/profile_text.h"
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

  LayerTables(const Params& params, const CostContext& context) {
    LayerTimes times = read_layer_times((std::filesystem::path(context.folder) / params.tables).string());
    check(context, times);
    describe_ = "layer tables: " + context.model->name + "; " + params_text(params) +
                "; engine: " + params_text(*context.engine);
    profile_hash_ = profile_hash_of(describe_ + ' ' + std::to_string(times.hash));
    pricer_.emplace(std::move(times), context.engine->times, *context.model);
  }

  Duration step_time(const StepInput& input) const override {
    const StepShape& shape = *input.shape;
    if (const auto line = decode_line(shape))
      return duration_from_ns(line->base_ns + line->slope_ns * real(shape.decode_context));
    double ns = 0;
    for (const OpCost& op : pricer_->operations(shape)) ns += op.ns;
    return duration_from_ns(ns);
  }

  StepCost step(const StepInput& input) const override {
    return {pricer_->operations(*input.shape), step_time(input)};
  }

  std::optional<ContextLine> decode_line(const StepShape& shape) const override {
    if (!shape.pure_decode()) return std::nullopt;
    return pricer_->decode_line(shape);
  }

  Evidence evidence() const override { return Evidence::kInterpolated; }
  std::uint64_t profile_hash() const override { return profile_hash_; }
  std::string describe() const override { return describe_; }

 private:
  [[noreturn]] static void refuse(const char* path, const std::string& message, const std::string& remedy) {
    throw ConfigError(Problem{kCodeInconsistent, {}, path, message, remedy});
  }

  static void check(const CostContext& context, const LayerTimes& times) {
    if (context.model == nullptr) refuse("spec.model", "layer_tables needs a model", "");
    if (context.engine == nullptr) refuse("spec.cost.engine", "names no engine", "servetwin list engines");
    if (context.model->is_moe() || context.model->is_mla())
      refuse("spec.model", context.model->name + " has experts or latent attention", "use a dense model");
    const DType weights = context.dtype.value_or(context.model->dtype);
    const DType cache = context.kv_dtype.value_or(DType::kBF16);
    if (bits_per_element(weights) != 16 || bits_per_element(cache) != 16)
      refuse("spec.engine.dtype", "the tables are of 16-bit weights and cache", "use bf16");
    if (context.tp != 1 || context.pp != 1)
      refuse("spec.layout", "tables of one rank hold no collectives", "use tp: 1, pp: 1");
    for (const char* name : {"qkv_proj", "o_proj", "gate_up_proj", "down_proj", "layernorm", "act_fn",
                             "rotary_emb", "embedding", "final_layernorm"}) {
      if (times.by_tokens.count(name) == 0)
        refuse("spec.cost.tables", std::string("dense.csv has no ") + name, "use tables of a dense model");
    }
    if (times.by_sequences.count("lm_head") == 0)
      refuse("spec.cost.tables", "per_sequence.csv has no lm_head", "");
  }

  std::optional<LayerPricer> pricer_;
  std::string describe_;
  std::uint64_t profile_hash_ = 0;
};

const Registered<CostModel, LayerTables> kLayerTables{
    "layer_tables", "A profiler's tables of one layer's operations, and an engine's own times."};

}  // namespace
}  // namespace servetwin
