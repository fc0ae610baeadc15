// Shortest remaining time first: outputs still expected, and what must be computed before the next one; what
// a preemption lost counts as work. Long jobs wait, at most max_wait. Preemptive with yield: by_order.
#include <algorithm>

#include "engine/base/registry.h"
#include "engine/serving/rules.h"
#include "engine/serving/rules/aged.h"

namespace servetwin {
namespace {

using namespace std::chrono_literals;

class Srtf final : public WaitingOrder {
 public:
  struct Params {
    double prefill_weight = 0.05;
    Duration max_wait = 60s;

    template <class Visitor>
    void fields(Visitor& v) {
      v("prefill_weight", prefill_weight, "Work of a token to be computed, an output being 1.",
        Range{0.0, 10.0});
      v("max_wait", max_wait, "Who waited this long goes first, in order of arrival.", Range{0ns, 24h});
    }
  };
  Srtf(const Params& params, const RuleContext& context)
      : params_(params), aged_(params.max_wait), predictor_(required_predictor(context, "srtf")) {}

  bool changing() const override { return true; }
  std::optional<Duration> starvation_bound() const override { return aged_.bound(); }

  bool before(const WaitingView& a, const WaitingView& b) const override {
    return aged_.before(a, b, [this](const WaitingView& view) { return rank(view); });
  }

 private:
  // Smallest first.
  std::tuple<double, Time, RequestId> rank(const WaitingView& view) const {
    const std::int64_t expected = predictor_.outputs(*view.request).value - view.outputs.value;
    const double work = static_cast<double>(std::max<std::int64_t>(expected, 1)) +
                        params_.prefill_weight * static_cast<double>(view.rest.value);
    return {work, view.request->arrival, view.request->id};
  }

  Params params_;
  Aged aged_;
  const Predictor& predictor_;
};

const Registered<WaitingOrder, Srtf> kSrtf{
    "srtf", "Least remaining work first, recomputation included; needs a predictor. Bound: max_wait."};

}  // namespace
}  // namespace servetwin
