// A straight line in tokens, summed context and sequences: for teaching, benchmarks and checks by hand.
#include "costmodels/cost_model.h"
#include "costmodels/profile_text.h"
#include "engine/base/registry.h"

namespace servetwin {
namespace {

class Linear final : public CostModel {
 public:
  struct Params {
    Duration base{};
    double per_token_ns = 0;
    double per_context_ns = 0;
    double per_pair_ns = 0;
    double per_sequence_ns = 0;

    template <class Visitor>
    void fields(Visitor& v) {
      v("base", base, "Of every step.", kRequired);
      v("per_token_ns", per_token_ns, "Nanoseconds per scheduled token.", kRequired);
      v("per_context_ns", per_context_ns, "Nanoseconds per key that a decode row reads.", kRequired);
      v("per_pair_ns", per_pair_ns, "Nanoseconds per (query, key) pair of prefill rows.");
      v("per_sequence_ns", per_sequence_ns, "Nanoseconds per row.");
    }
  };

  explicit Linear(const Params& params) : params_(params) {}

  Duration step_time(const StepInput& input) const override {
    const StepShape& shape = *input.shape;
    return duration_from_ns(fixed_ns(shape) +
                            params_.per_context_ns * static_cast<double>(shape.decode_context));
  }

  StepCost step(const StepInput& input) const override {
    const StepShape& shape = *input.shape;
    StepCost cost;
    cost.total = step_time(input);
    const auto set = [&](OpClass op, double ns) {
      cost.ops[static_cast<std::size_t>(op)].ns = ns;
      if (ns > 0) cost.ops[static_cast<std::size_t>(op)].bound = Bound::kOverhead;
    };
    set(OpClass::kGemm, params_.per_token_ns * static_cast<double>(shape.tokens));
    set(OpClass::kAttentionDecode, params_.per_context_ns * static_cast<double>(shape.decode_context));
    set(OpClass::kAttentionPrefill, params_.per_pair_ns * pairs(shape));
    set(OpClass::kLaunch, static_cast<double>(to_ns(params_.base)) +
                              params_.per_sequence_ns * static_cast<double>(shape.sequences));
    return cost;
  }

  std::optional<ContextLine> decode_line(const StepShape& shape) const override {
    if (!shape.pure_decode()) return std::nullopt;
    return ContextLine{fixed_ns(shape), params_.per_context_ns};
  }

  Evidence evidence() const override { return Evidence::kAnalytic; }
  std::uint64_t profile_hash() const override { return profile_hash_of(describe()); }
  std::string describe() const override { return "linear: " + params_text(params_); }

 private:
  static double pairs(const StepShape& shape) {
    return static_cast<double>(shape.prefill_q_context) +
           0.5 * static_cast<double>(shape.prefill_q_squared + shape.prefill_tokens);
  }

  // All but the decode rows' context.
  double fixed_ns(const StepShape& shape) const {
    return static_cast<double>(to_ns(params_.base)) +
           params_.per_token_ns * static_cast<double>(shape.tokens) +
           params_.per_sequence_ns * static_cast<double>(shape.sequences) +
           params_.per_pair_ns * pairs(shape);
  }

  Params params_;
};

const Registered<CostModel, Linear> kLinear{"linear",
                                            "base + tokens + context + sequences, each times a constant."};

}  // namespace
}  // namespace servetwin
