// The cost of a dense model's step from first principles: shapes, device limits, kernel efficiencies, host
// overhead.
#include <string>

#include "costmodels/dense_pricer.h"
#include "costmodels/profile_text.h"
#include "engine/base/registry.h"

namespace servetwin {
namespace {

std::string shape_text(const ModelSpec& m) {
  std::string text = m.name;
  for (const std::int64_t n :
       {m.layers, m.hidden, m.heads, m.kv_heads, m.head_dim, m.intermediate, m.vocab}) {
    text += ' ' + std::to_string(n);
  }
  return text;
}

class Analytic final : public CostModel {
 public:
  using Params = EngineOverhead;

  Analytic(const Params& params, const CostContext& context) : pricer_(checked(context), params) {
    const ModelSpec& model = *context.model;
    describe_ = "analytic: " + model.name + " on " + context.device->name + ", tp " +
                std::to_string(context.tp) + ", weights " + name_of(context.dtype.value_or(model.dtype)) +
                ", KV " + name_of(context.kv_dtype.value_or(DType::kBF16)) + window_text(pricer_.windows()) +
                "; engine: " + params_text(params) + "; kernels: " + params_text(context.device->efficiency);
    profile_hash_ = profile_hash_of(describe_ + shape_text(model) + params_text(*context.device));
  }

  Duration step_time(const StepInput& input) const override {
    const StepShape& shape = *input.shape;
    return duration_from_ns(pricer_.base_ns(shape) +
                            pricer_.decode_key_ns() * static_cast<double>(shape.decode_context));
  }

  StepCost step(const StepInput& input) const override {
    const StepShape& shape = *input.shape;
    StepCost cost{pricer_.price(shape), step_time(input)};
    if (shape.decode_context == 0) return cost;
    OpCost& decode = cost.ops[static_cast<std::size_t>(OpClass::kAttentionDecode)];
    const OpCost keys = pricer_.decode_keys(static_cast<double>(shape.decode_context));
    decode.bound = 2.0 * keys.ns > decode.ns + keys.ns ? keys.bound : decode.bound;
    decode.ns += keys.ns;
    decode.flops += keys.flops;
    decode.bytes += keys.bytes;
    return cost;
  }

  std::optional<ContextLine> decode_line(const StepShape& shape) const override {
    if (!shape.pure_decode() || window() > 0) return std::nullopt;
    return ContextLine{pricer_.base_ns(shape), pricer_.decode_key_ns(), pricer_.host_ns(shape)};
  }

  std::int64_t window() const override { return pricer_.windows().window; }
  Evidence evidence() const override { return Evidence::kAnalytic; }
  std::uint64_t profile_hash() const override { return profile_hash_; }
  std::string describe() const override { return describe_; }

 private:
  static const CostContext& checked(const CostContext& context) {
    std::vector<Problem> problems = pricing_problems(context);
    if (!problems.empty()) throw ConfigError(std::move(problems));
    return context;
  }

  DensePricer pricer_;
  std::string describe_;
  std::uint64_t profile_hash_ = 0;
};

const Registered<CostModel, Analytic> kAnalytic{"analytic", "Dense models from shapes and device limits."};

}  // namespace
}  // namespace servetwin
