// Preemption by the waiting order itself: the running request that the order puts last gives way to a waiting
// one that it puts before that. Makes SRTF, EDF, MLFQ or priorities preemptive. Nobody gives way more than
// max_preemptions times, nor twice without progress, so that everyone ends.
#include "engine/base/registry.h"
#include "engine/serving/rules.h"

namespace servetwin {
namespace {

class ByOrder final : public YieldRule {
 public:
  struct Params {
    std::int64_t max_preemptions = 4;

    template <class Visitor>
    void fields(Visitor& v) {
      v("max_preemptions", max_preemptions, "Of one request; after that it keeps its place.", Range{1, 1000});
    }
  };
  explicit ByOrder(const Params& params) : params_(params) {}

  std::int64_t most() const override { return params_.max_preemptions; }

  std::optional<std::size_t> pick(const WaitingView& head,
                                  const std::vector<WaitingView>& running,
                                  const WaitingOrder& order) const override {
    std::size_t last = 0;
    for (std::size_t i = 1; i < running.size(); ++i) {
      if (order.before(running[last], running[i])) last = i;
    }
    if (!order.before(head, running[last])) return std::nullopt;
    return last;
  }

 private:
  Params params_;
};

const Registered<YieldRule, ByOrder> kByOrder{
    "by_order", "The last by the waiting order gives way to a waiting one before it; bounded per request."};

}  // namespace
}  // namespace servetwin
