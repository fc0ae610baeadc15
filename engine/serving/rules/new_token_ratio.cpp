// SGLang's admission: running requests are expected to use a share of the outputs they may still have, and
// who enters now all of its own. The share decays while nothing goes wrong and rises again after a
// preemption.
#include <algorithm>
#include <map>

#include "engine/base/registry.h"
#include "engine/serving/rules.h"

namespace servetwin {
namespace {

class NewTokenRatio final : public AdmissionRule, public RuleListener {
 public:
  struct Params {
    double initial = 0.7;
    double least = 0.14;
    std::int64_t decay_steps = 600;
    Tokens clip{4096};

    template <class Visitor>
    void fields(Visitor& v) {
      v("initial", initial, "Share of the outputs left that running requests are expected to use.",
        Range{0.0, 1.0});
      v("least", least, "What it decays to, as a share of `initial`.", Range{0.0, 1.0});
      v("decay_steps", decay_steps, "Decode steps from the one to the other.", Range{1, 1000000});
      v("clip", clip, "Outputs counted of one request at most.", Range{1, 1000000000});
    }
  };
  explicit NewTokenRatio(const Params& params) : params_(params), ratio_(params.initial) {}

  RuleListener* listener() override { return this; }

  std::optional<HeldReason> refuse(const AdmissionView& view, const EngineConfig& config) const override {
    const double size = static_cast<double>(config.block_size.value);
    double tokens = size * static_cast<double>(view.free.value - view.need_sequence.value);
    for (const auto& [id, one] : running_) {
      const double share = one.entered == view.now ? 1.0 : ratio_;
      tokens -= share * static_cast<double>(counted(one.most - one.outputs));
    }
    const std::int64_t own = view.request->max_tokens.value;
    if (view.running > 0 && static_cast<double>(counted(own)) > tokens) return HeldReason::kWatermark;
    return view.need_chunk > view.free ? std::optional{HeldReason::kKvAllocation} : std::nullopt;
  }

  void on_admitted(const RequestSpec& request, Tokens /*hit*/, bool /*again*/, Time now) override {
    Running& one = running_[request.id];
    one.most = request.max_tokens.value;
    one.outputs = outputs_of_victims_.count(request.id) > 0 ? outputs_of_victims_[request.id] : 0;
    one.entered = now;
  }
  void on_output(const RequestSpec& request, Time now) override {
    const auto found = running_.find(request.id);
    if (found == running_.end()) {
      ++outputs_of_victims_[request.id];
    } else {
      ++found->second.outputs;
    }
    if (now == last_step_) return;
    last_step_ = now;
    const double end = params_.initial * params_.least;
    ratio_ = std::max(end, ratio_ - (params_.initial - end) / static_cast<double>(params_.decay_steps));
  }
  void on_preempted(const RequestSpec& request, Time /*now*/) override {
    outputs_of_victims_[request.id] = running_[request.id].outputs;
    running_.erase(request.id);
    double decoded = 0;
    double most = 0;
    for (const auto& [id, one] : running_) {
      decoded += static_cast<double>(one.outputs + kAhead);
      most += static_cast<double>(one.most);
    }
    if (most > 0) ratio_ = std::min(1.0, decoded / most);
  }
  void on_left(const RequestSpec& request) override {
    running_.erase(request.id);
    outputs_of_victims_.erase(request.id);
  }

 private:
  static constexpr std::int64_t kAhead = 20;  // decode steps that a preemption makes room for

  struct Running {
    std::int64_t most = 0;
    std::int64_t outputs = 0;
    Time entered = kTimeZero;
  };

  std::int64_t counted(std::int64_t outputs) const { return std::min(outputs, params_.clip.value); }

  Params params_;
  double ratio_;
  std::map<RequestId, Running> running_;
  std::map<RequestId, std::int64_t> outputs_of_victims_;
  Time last_step_ = kTimeNever;
};

const Registered<AdmissionRule, NewTokenRatio> kNewTokenRatio{
    "new_token_ratio", "Admit by an expected share of the outputs that running ones may have (SGLang)."};

}  // namespace
}  // namespace servetwin
