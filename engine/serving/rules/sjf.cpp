// Shortest job first: by predicted outputs, whatever has been done of them. Long jobs wait, at most max_wait.
#include "engine/base/registry.h"
#include "engine/serving/rules.h"
#include "engine/serving/rules/aged.h"

namespace servetwin {
namespace {

using namespace std::chrono_literals;

class Sjf final : public WaitingOrder {
 public:
  struct Params {
    Duration max_wait = 60s;

    template <class Visitor>
    void fields(Visitor& v) {
      v("max_wait", max_wait, "Who waited this long goes first, in order of arrival.", Range{0ns, 24h});
    }
  };
  Sjf(const Params& params, const RuleContext& context)
      : params_(params), aged_(params.max_wait), predictor_(required_predictor(context, "sjf")) {}

  bool changing() const override { return true; }
  std::optional<Duration> starvation_bound() const override { return aged_.bound(); }

  bool before(const WaitingView& a, const WaitingView& b) const override {
    return aged_.before(a, b, [this](const WaitingView& view) { return rank(view); });
  }

 private:
  // Smallest first.
  std::tuple<std::int64_t, Time, RequestId> rank(const WaitingView& view) const {
    return {predictor_.outputs(*view.request).value, view.request->arrival, view.request->id};
  }

  Params params_;
  Aged aged_;
  const Predictor& predictor_;
};

const Registered<WaitingOrder, Sjf> kSjf{
    "sjf", "Fewest predicted outputs first; needs a predictor. Bound: max_wait."};

}  // namespace
}  // namespace servetwin
