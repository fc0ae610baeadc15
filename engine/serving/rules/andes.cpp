// Quality of experience (Andes): served first is who gains most of it, for each token of KV it would hold.
// Liu et al., 2024.
#include <algorithm>
#include <tuple>

#include "engine/base/registry.h"
#include "engine/serving/rules.h"
#include "engine/serving/rules/aged.h"

namespace servetwin {
namespace {

using namespace std::chrono_literals;

// A reader wants the first token after `ttft` and then `rate` tokens a second; quality is 1 less the share of
// the area under that line that came late. What counts is the gain within the horizon: who is ahead of its
// reader gains least. Preemptive with yield: by_order, which bounds preemptions per request.
class Andes final : public WaitingOrder {
 public:
  struct Params {
    Duration ttft = 1s;
    double rate = 5;
    Duration horizon = 10s;
    Duration max_wait = 60s;

    template <class Visitor>
    void fields(Visitor& v) {
      v("ttft", ttft, "When a reader expects the first token.", Range{0ns, 1h});
      v("rate", rate, "Tokens a second that it reads after that.", Range{0.01, 10000.0});
      v("horizon", horizon, "How far ahead the gain is looked at.", Range{1ms, 1h});
      v("max_wait", max_wait, "Who waited this long goes first, in order of arrival.", Range{0ns, 24h});
    }
  };
  explicit Andes(const Params& params) : params_(params), aged_(params.max_wait) {}

  bool changing() const override { return true; }
  std::optional<Duration> starvation_bound() const override { return aged_.bound(); }

  bool before(const WaitingView& a, const WaitingView& b) const override {
    return aged_.before(a, b, [this](const WaitingView& view) { return rank(view); });
  }

 private:
  // Area between the reader's line and `outputs` tokens up to `seconds` after the first was due; nothing
  // where the tokens are ahead of the line.
  double late_area(double seconds, double outputs) const {
    const double late = std::max(0.0, seconds - outputs / params_.rate);
    return params_.rate * late * late / 2;
  }
  std::tuple<double, Time, RequestId> rank(const WaitingView& view) const {
    const RequestSpec& request = *view.request;
    const double horizon = to_seconds(params_.horizon);
    const double end = to_seconds(view.now - request.arrival - params_.ttft) + horizon;
    const double outputs = static_cast<double>(view.outputs.value);
    const double whole = late_area(std::max(end, 0.0), 0);
    const double unserved = late_area(end, outputs);
    const double served = late_area(end, outputs + params_.rate * horizon);
    const double gain = whole > 0 ? (unserved - served) / whole : 0;
    return {-gain / static_cast<double>(request.prompt.value + view.outputs.value), request.arrival,
            request.id};
  }

  Params params_;
  Aged aged_;
};

const Registered<WaitingOrder, Andes> kAndes{
    "andes", "Most gain in readers' quality of experience per token of KV first. Bound: max_wait."};

}  // namespace
}  // namespace servetwin
