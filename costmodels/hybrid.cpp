// Measured kernels where there is a profile of them, an engine's own times around them, device limits for
// what is left.
#include <string>

#include "costmodels/numbers.h"
#include "costmodels/profile_text.h"
#include "costmodels/step_pricer.h"
#include "engine/base/registry.h"

namespace servetwin {
namespace {

enum class Sampler : std::uint8_t { kFiltered, kGreedy };

class Hybrid final : public CostModel {
 public:
  struct Params {
    std::string engine;
    Fp8Scales fp8_scales = Fp8Scales::kChannel;
    ExpertRouting routing = ExpertRouting::kSkewed;
    std::int64_t attention_dp = 1;
    std::int64_t ep = 1;
    Sampler sampler = Sampler::kFiltered;

    template <class Visitor>
    void fields(Visitor& v) {
      v("engine", engine, "The engine's own times: a set of costmodels/engines, or a file.", kRequired);
      v("fp8_scales", fp8_scales, "Scales of fp8 weights: one a channel, or one a block of 128.",
        Choices<Fp8Scales>{{"channel", Fp8Scales::kChannel}, {"block", Fp8Scales::kBlock}});
      v("routing", routing, "How tokens spread over experts: evenly, or as by a power law.",
        Choices<ExpertRouting>{{"even", ExpertRouting::kEven},
                               {"skewed", ExpertRouting::kSkewed},
                               {"very_skewed", ExpertRouting::kVerySkewed}});
      v("attention_dp", attention_dp, "Groups of the tp ranks that compute attention for their own requests.",
        AtLeast{1});
      v("ep", ep, "Ranks that divide whole experts among them; the rest of tp divides each expert.",
        AtLeast{1});
      v("sampler", sampler, "What clients ask for: top-p or top-k, or neither.",
        Choices<Sampler>{{"filtered", Sampler::kFiltered}, {"greedy", Sampler::kGreedy}});
    }
  };

  Hybrid(const Params& params, const CostContext& context)
      : choice_(choice_of(params, context)),
        pricer_(made(params, context)),
        windows_(layer_windows(context)) {
    const ModelSpec& model = *context.model;
    describe_ = "hybrid: " + model.name + " on " + context.device->name + ", tp " +
                std::to_string(context.tp) + ", weights " + name_of(choice_.weights) + ", KV " +
                name_of(choice_.kv) + window_text(windows_) + "; " + params_text(params) +
                "; engine: " + params_text(*context.engine) + "; kernels of " + context.operators->device +
                ": " + context.operators->source;
    if (context.operators->device != context.device->name) describe_ += ", scaled by the limits of both";
    profile_hash_ =
        profile_hash_of(describe_ + params_text(*context.operators) + params_text(*context.device));
  }

  Duration step_time(const StepInput& input) const override {
    const StepShape& shape = *input.shape;
    double ns = pricer_.base_ns(shape);
    if (shape.decode_sequences > 0) ns += pricer_.decode_keys(shape).slope * real(shape.decode_context);
    return duration_from_ns(ns);
  }

  StepCost step(const StepInput& input) const override {
    const StepShape& shape = *input.shape;
    StepCost cost{pricer_.price(shape), step_time(input)};
    if (shape.decode_sequences == 0) return cost;
    OpCost& decode = cost.ops[static_cast<std::size_t>(OpClass::kAttentionDecode)];
    const Work work = pricer_.decode_work(shape);
    decode.ns += pricer_.decode_keys(shape).slope * real(shape.decode_context);
    decode.flops = work.flops;
    decode.bytes = work.bytes;
    decode.bound = Bound::kMemory;
    return cost;
  }

  std::optional<ContextLine> decode_line(const StepShape& shape) const override {
    if (!shape.pure_decode() || windows_.windowed > 0) return std::nullopt;
    const DecodeLine keys = pricer_.decode_keys(shape);
    return ContextLine{pricer_.base_ns(shape), keys.slope, pricer_.overlapped_ns(shape), keys.from,
                       keys.until};
  }

  std::int64_t window() const override { return windows_.window; }
  // Gaps between kernels and host times were fitted elsewhere.
  Evidence evidence() const override { return Evidence::kExtrapolated; }
  std::uint64_t profile_hash() const override { return profile_hash_; }
  std::string describe() const override { return describe_; }

 private:
  static OperatorChoice choice_of(const Params& params, const CostContext& context) {
    OperatorChoice choice;
    if (context.model != nullptr) choice.weights = context.dtype.value_or(context.model->dtype);
    choice.kv = context.kv_dtype.value_or(DType::kBF16);
    choice.fp8_scales = params.fp8_scales;
    choice.routing = params.routing;
    return choice;
  }

  StepPricer made(const Params& params, const CostContext& context) const {
    const RankLayout layout{context.tp, static_cast<int>(params.attention_dp), static_cast<int>(params.ep)};
    std::vector<Problem> problems = problems_of(layout, context);
    if (!problems.empty()) throw ConfigError(std::move(problems));
    StepPricerParts parts{context.model, context.device,       layout, context.limits, layer_windows(context),
                          choice_,       context.engine->times};
    parts.greedy = params.sampler == Sampler::kGreedy;
    return StepPricer(parts, OperatorTimes(*context.operators, *context.device, *context.model, choice_));
  }

  std::vector<Problem> problems_of(const RankLayout& layout, const CostContext& context) const {
    std::vector<Problem> problems;
    const auto add = [&](const char* path, std::string message, std::string remedy = "") {
      problems.push_back({kCodeInconsistent, {}, path, std::move(message), std::move(remedy)});
    };
    if (context.model == nullptr) add("spec.model", "the hybrid cost model needs a model");
    if (context.device == nullptr) add("spec.device", "the hybrid cost model needs a device");
    if (context.engine == nullptr) add("spec.cost.engine", "names no engine", "see servetwin list engines");
    if (context.operators == nullptr)
      add("spec.device", "names no operator profile",
          "add `operators: NAME` to the device's file, or use cost.model analytic");
    if (!problems.empty()) return problems;
    if (context.pp != 1) add("spec.layout.pp", "pipeline stages are not priced", "use pp: 1");
    if (context.tp > context.device->devices_per_node)
      add("spec.layout.tp", "tp " + std::to_string(context.tp) + " spans nodes, which is not priced");
    for (const LayoutProblem& one : layout_problems(*context.model, layout)) {
      const std::string path = one.about == "tp" ? "spec.layout.tp" : "spec.cost." + one.about;
      add(path.c_str(), one.message, "choose a number that divides it");
    }
    for (Problem& one : operator_problems(*context.operators, *context.device, *context.model, choice_))
      problems.push_back(std::move(one));
    return problems;
  }

  OperatorChoice choice_;
  StepPricer pricer_;
  LayerWindows windows_;
  std::string describe_;
  std::uint64_t profile_hash_ = 0;
};

const Registered<CostModel, Hybrid> kHybrid{"hybrid",
                                            "Kernels as measured, an engine's own times, device limits."};

}  // namespace
}  // namespace servetwin
