// Durations from tables of operation times by Vidur's rule, so that both simulators can run on the same
// times.
#include <filesystem>
#include <string>
#include <utility>

#include "costmodels/cost_model.h"
#include "costmodels/profile_text.h"
#include "costmodels/vidur_ops.h"
#include "engine/base/check.h"
#include "engine/base/registry.h"
#include "engine/models/spec.h"

namespace servetwin {
namespace {

enum class Profile { kMeasured, kSurrogate };

class VidurTables final : public CostModel {
 public:
  struct Params {
    std::string ops;
    Profile attention = Profile::kMeasured;
    std::int64_t stage = 0;
    bool cpu_overhead = false;

    template <class Visitor>
    void fields(Visitor& v) {
      v("ops", ops, "Folder of by_tokens.csv, attn_decode.csv and attn_prefill.csv.", kRequired);
      v("attention", attention, "Whether the attention times are this model's, or another's in its place.",
        kRequired, Choices<Profile>{{"measured", Profile::kMeasured}, {"surrogate", Profile::kSurrogate}});
      v("stage", stage, "The pipeline stage that is timed, from 0.", AtLeast{0});
      v("cpu_overhead", cpu_overhead, "Add the host's times by number of requests (cpu_overhead.csv).");
    }
  };

  VidurTables(const Params& params, const CostContext& context)
      : ops_((std::filesystem::path(context.folder) / params.ops).string(), stage_of(params, context)),
        attention_(params.attention == Profile::kMeasured ? Evidence::kInterpolated
                                                          : Evidence::kExtrapolated) {
    check_limits(context.limits);
    describe_ = "vidur tables: " + context.model->name + ", tp " + std::to_string(context.tp) + ", pp " +
                std::to_string(context.pp) + "; " + params_text(params);
    if (params.attention == Profile::kSurrogate)
      describe_ += " (attention times of another model: no statement about a device's speed)";
    profile_hash_ = profile_hash_of(describe_ + ' ' + std::to_string(ops_.hash()));
  }

  Duration step_time(const StepInput& input) const override { return step(input).total; }

  StepCost step(const StepInput& input) const override {
    const StepShape& shape = *input.shape;
    CHECK_INVARIANT(std::cmp_equal(input.prefill_rows.size(), shape.prefill_sequences),
                    input.prefill_rows.size(), shape.prefill_sequences);
    const VidurOps::TokenTimes& times = ops_.by_tokens(shape.tokens);
    StepCost cost;
    double ms = 0;
    const auto set = [&](OpClass op, double op_ms, Evidence evidence) {
      if (op_ms <= 0) return;
      cost.ops[static_cast<std::size_t>(op)] = {op_ms * 1e6, 0, 0, evidence, Bound::kOverhead};
      ms += op_ms;
    };
    set(OpClass::kGemm, times.gemm, Evidence::kInterpolated);
    set(OpClass::kNorm, times.elementwise, Evidence::kInterpolated);
    set(OpClass::kCollective, times.collective, Evidence::kInterpolated);
    set(OpClass::kAttentionPrefill, ops_.prefill_ms(input.prefill_rows), attention_);
    set(OpClass::kAttentionDecode, ops_.decode_ms(shape.decode_sequences, shape.decode_context), attention_);
    set(OpClass::kHost, ops_.host_ms(shape.sequences), Evidence::kInterpolated);
    cost.total = duration_from_ns(ms * 1e6);
    return cost;
  }

  bool needs_rows() const override { return true; }
  Evidence evidence() const override { return attention_; }
  std::uint64_t profile_hash() const override { return profile_hash_; }
  std::string describe() const override { return describe_; }

 private:
  [[noreturn]] static void refuse(const char* path, const std::string& message, const std::string& remedy) {
    throw ConfigError(Problem{kCodeInconsistent, {}, path, message, remedy});
  }

  static VidurStage stage_of(const Params& params, const CostContext& context) {
    if (context.model == nullptr) refuse("spec.model", "the cost model vidur_tables needs a model", "");
    const ModelSpec& model = *context.model;
    if (model.is_moe() || model.is_mla())
      refuse("spec.model", model.name + " has layers that the rule does not know", "use a dense model");
    if (params.stage >= context.pp) {
      refuse("spec.cost.stage", "is " + std::to_string(params.stage) + " of " + std::to_string(context.pp),
             "stages count from 0");
    }
    VidurStage stage;
    stage.layers = static_cast<double>(model.layers) / context.pp;
    stage.grouped_queries = model.kv_heads < model.heads;
    stage.split = context.tp > 1;
    stage.sends = params.stage + 1 < context.pp;
    stage.host = params.cpu_overhead;
    return stage;
  }

  // What a run can come to is refused before it begins.
  void check_limits(const StepLimits& limits) const {
    const auto within = [](const char* path, std::int64_t limit, std::int64_t reach) {
      const std::string number = std::to_string(reach);
      if (limit > reach)
        refuse(path, std::to_string(limit) + " is beyond the tables, which reach " + number, "set " + number);
    };
    const StepLimits reach = ops_.reach();
    within("spec.engine.max_num_batched_tokens", limits.tokens, reach.tokens);
    within("spec.engine.max_num_seqs", limits.sequences, reach.sequences);
    within("spec.engine.max_model_len", limits.context, reach.context);
  }

  VidurOps ops_;
  Evidence attention_;
  std::string describe_;
  std::uint64_t profile_hash_ = 0;
};

const Registered<CostModel, VidurTables> kVidurTables{"vidur_tables",
                                                      "Tables of operation times, by Vidur's rule."};

}  // namespace
}  // namespace servetwin
