// Longest prefix match (SGLang): who finds most of its tokens in the prefix cache goes first, as seen when
// the plan begins. Above fcfs_above waiting requests the look-ups cost too much: arrival order then. Cold
// prompts wait, at most max_wait.
#include "engine/base/registry.h"
#include "engine/serving/rules.h"
#include "engine/serving/rules/aged.h"

namespace servetwin {
namespace {

using namespace std::chrono_literals;

class Lpm final : public WaitingOrder {
 public:
  struct Params {
    std::int64_t fcfs_above = 128;
    Duration max_wait = 60s;

    template <class Visitor>
    void fields(Visitor& v) {
      v("fcfs_above", fcfs_above, "Waiting requests above which it is arrival order.", Range{1, 1000000});
      v("max_wait", max_wait, "Who waited this long goes first, in order of arrival.", Range{0ns, 24h});
    }
  };
  explicit Lpm(const Params& params) : params_(params), aged_(params.max_wait) {}

  bool changing() const override { return true; }
  std::optional<Duration> starvation_bound() const override { return aged_.bound(); }
  bool sees_cache() const override { return looks_; }
  void on_plan(Time /*now*/, std::int64_t waiting) override { looks_ = waiting <= params_.fcfs_above; }

  bool before(const WaitingView& a, const WaitingView& b) const override {
    return aged_.before(a, b, [this](const WaitingView& view) { return rank(view); });
  }

 private:
  // Smallest first.
  std::tuple<std::int64_t, Time, RequestId> rank(const WaitingView& view) const {
    if (!looks_) return {0, view.request->arrival, view.request->id};
    const std::int64_t known = view.request->prompt.value + view.outputs.value;
    return {view.rest.value - known, view.request->arrival, view.request->id};
  }

  Params params_;
  Aged aged_;
  bool looks_ = true;
};

const Registered<WaitingOrder, Lpm> kLpm{
    "lpm", "Longest cached prefix first, as in SGLang; arrival order above fcfs_above. Bound: max_wait."};

}  // namespace
}  // namespace servetwin
