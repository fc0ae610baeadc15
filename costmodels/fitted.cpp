// Prices steps by a profile that `calibrate` measured and fitted: within what was measured and, unless that
// is refused, beyond it.
#include <algorithm>
#include <filesystem>
#include <string>

#include "costmodels/profile_match.h"
#include "costmodels/profile_text.h"
#include "engine/base/registry.h"
#include "engine/base/text.h"

namespace servetwin {
namespace {

double number(std::int64_t value) { return static_cast<double>(value); }

class Fitted final : public CostModel {
 public:
  struct Params {
    std::string profile;
    bool strict = false;
    bool allow_mismatch = false;
    std::optional<int> threads;

    template <class Visitor>
    void fields(Visitor& v) {
      v("profile", profile, "The profile that `servetwin calibrate` wrote.", kRequired);
      v("strict", strict, "Refuse steps beyond those measured, instead of extrapolating.");
      v("allow_mismatch", allow_mismatch,
        "Use a profile of another device, model, number format or number of threads, as extrapolated.");
      v("threads", threads, "Threads that compute, per replica; by default as measured.", Range{1, 256});
    }
  };

  Fitted(const Params& params, const CostContext& context)
      : file_((std::filesystem::path(context.folder) / params.profile).string()),
        profile_(read(context)),
        strict_(params.strict),
        mismatch_(profile_mismatch(profile_.measured, context, params.threads)) {
    if (!mismatch_.empty() && !params.allow_mismatch) {
      refuse("spec.cost.profile", "was measured otherwise: " + mismatch_,
             "calibrate for this scenario, or state allow_mismatch: true");
    }
    const auto beyond = beyond_profile(profile_.domain, context.limits);
    if (beyond && strict_) refuse(beyond->path.c_str(), beyond->message, beyond->remedy);
    caveat_ = mismatch_.empty() ? (beyond ? beyond->path + ' ' + beyond->message : "") : mismatch_;
    profile_hash_ = profile_hash_of(std::string(strict_ ? "strict " : "") + mismatch_ +
                                    profile_text(write_profile(profile_)));
  }

  Duration step_time(const StepInput& input) const override {
    const StepShape& shape = *input.shape;
    if (strict_ && !profile_.domain.holds(shape)) refuse_step(shape);
    return duration_from_ns(fixed_ns(shape) + profile_.step.context_ns * number(shape.decode_context));
  }

  StepCost step(const StepInput& input) const override {
    const StepShape& shape = *input.shape;
    const StepTerms& terms = profile_.step;
    const bool within = mismatch_.empty() && profile_.domain.holds(shape);
    StepCost cost;
    cost.total = step_time(input);
    const auto set = [&](OpClass op, double ns) {
      OpCost& part = cost.ops[static_cast<std::size_t>(op)];
      part.ns = ns;
      part.evidence = within ? Evidence::kInterpolated : Evidence::kExtrapolated;
      if (ns > 0) part.bound = Bound::kOverhead;
    };
    set(OpClass::kGemm, terms.tokens_ns(std::max(shape.tokens, shape.graph_size)) +
                            terms.prefill_token_ns * number(shape.prefill_tokens));
    set(OpClass::kAttentionPrefill, terms.pair_ns * number(prefill_pairs(shape)));
    set(OpClass::kAttentionDecode, terms.context_ns * number(shape.decode_context));
    set(OpClass::kSampling, terms.sampled_ns * number(shape.sampled_rows));
    set(OpClass::kLaunch, terms.launch_ns(shape));
    set(OpClass::kHost, profile_.host.ns(shape));
    return cost;
  }

  std::optional<ContextLine> decode_line(const StepShape& shape) const override {
    if (!shape.pure_decode() || strict_) return std::nullopt;
    return ContextLine{fixed_ns(shape), profile_.step.context_ns, profile_.host.ns(shape)};
  }

  Evidence evidence() const override {
    return caveat_.empty() ? Evidence::kInterpolated : Evidence::kExtrapolated;
  }
  std::uint64_t profile_hash() const override { return profile_hash_; }

  std::string describe() const override {
    const ProfileSubject& m = profile_.measured;
    std::string text = "fitted: " + m.model + " on " + m.device + " (" + m.cpu + "), threads " +
                       std::to_string(m.threads) + ", weights " + m.dtype + ", KV " + m.kv_dtype +
                       ", measured " + m.date + "; half of the steps left out were off by at most";
    text += " " + percent(profile_.error.decode) + " (decode), " + percent(profile_.error.prefill) +
            " (prefill), " + percent(profile_.error.mixed) + " (mixed)";
    return caveat_.empty() ? text : text + "; extrapolated: " + caveat_;
  }

 private:
  static std::string percent(const RegionError& error) {
    return format_number(number(static_cast<std::int64_t>(error.median * 1000 + 0.5)) / 10) + " %";
  }

  [[noreturn]] void refuse(const char* path, const std::string& message, const std::string& remedy) const {
    throw ConfigError(Problem{kCodeInconsistent, {file_, 0, 0}, path, message, remedy});
  }

  [[noreturn]] void refuse_step(const StepShape& shape) const {
    refuse("spec.cost.strict",
           "a step of " + std::to_string(shape.tokens) + " tokens, " + std::to_string(shape.sequences) +
               " rows and " + std::to_string(shape.decode_context) + " keys of decode rows was not measured",
           "calibrate for more, or leave strict out");
  }

  StepProfile read(const CostContext& context) const {
    if (context.load_tree == nullptr || context.model == nullptr || context.device == nullptr)
      refuse("spec.cost", "the cost model fitted needs a model, a device and a reader of files", "");
    return profile_from(context.load_tree(file_));
  }

  // All but the keys that decode rows read.
  double fixed_ns(const StepShape& shape) const { return profile_.step.ns(shape) + profile_.host.ns(shape); }

  std::string file_;
  StepProfile profile_;
  bool strict_;
  std::string mismatch_;
  std::string caveat_;  // why figures are extrapolated; empty: they are not
  std::uint64_t profile_hash_ = 0;
};

const Registered<CostModel, Fitted> kFitted{"fitted", "A profile that `calibrate` measured on this device."};

}  // namespace
}  // namespace servetwin
