// SLO slack: among those who can still have their next token in time, least slack first; those who cannot go
// last, for their objective is lost already, but at most until they have waited max_wait. A token is due at
// arrival + ttft + outputs * tpot; slack is what is left of that after the estimated prefill.
#include "engine/base/registry.h"
#include "engine/serving/rules.h"
#include "engine/serving/rules/aged.h"

namespace servetwin {
namespace {

using namespace std::chrono_literals;

class SloSlack final : public WaitingOrder {
 public:
  struct Params {
    Duration max_wait = 60s;

    template <class Visitor>
    void fields(Visitor& v) {
      v("max_wait", max_wait, "Who waited this long goes first, in order of arrival.", Range{0ns, 24h});
    }
  };
  SloSlack(const Params& params, const RuleContext& context)
      : aged_(params.max_wait),
        ttfts_(required_ttfts(context, "slo_slack")),
        tpots_(required_tpots(context, "slo_slack")),
        estimator_(required_estimator(context, "slo_slack")) {}

  bool changing() const override { return true; }
  bool sees_cache() const override { return true; }
  std::optional<Duration> starvation_bound() const override { return aged_.bound(); }

  bool before(const WaitingView& a, const WaitingView& b) const override {
    return aged_.before(a, b, [this](const WaitingView& view) { return rank(view); });
  }

 private:
  std::tuple<int, Time, RequestId> rank(const WaitingView& view) const {
    const RequestSpec& request = *view.request;
    const std::size_t of = raw(request.traffic_class);
    const Tokens context = request.prompt + view.outputs - view.rest;
    const Time due = request.arrival + ttfts_[of] + tpots_[of] * view.outputs.value;
    const Time latest = due - prefill_time(estimator_, view.rest, context);
    return {latest < view.now ? 1 : 0, latest, request.id};
  }

  Aged aged_;
  std::vector<Duration> ttfts_;  // by class
  std::vector<Duration> tpots_;
  const StepTimeEstimator& estimator_;
};

const Registered<WaitingOrder, SloSlack> kSloSlack{
    "slo_slack", "Least slack to the next token's objective first, lost ones last. Bound: max_wait."};

}  // namespace
}  // namespace servetwin
