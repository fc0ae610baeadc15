// Cost-aware: of those whose blocks nobody shares in full, the victim that loses the fewest of its own, then
// the least progress. What is shared stays findable and costs nothing; who holds nothing alone would free
// nothing.
#include <tuple>

#include "engine/base/registry.h"
#include "engine/serving/rules.h"

namespace servetwin {
namespace {

class LeastLost final : public VictimRule {
 public:
  struct Params {
    template <class Visitor>
    void fields(Visitor& /*v*/) {}
  };
  explicit LeastLost(const Params& /*params*/) {}

  bool sees_blocks() const override { return true; }

  std::size_t pick(const std::vector<RunningView>& running) const override {
    std::size_t best = 0;
    for (std::size_t i = 1; i < running.size(); ++i) {
      if (rank(running[i]) <= rank(running[best])) best = i;  // of equals the one admitted last
    }
    return best;
  }

 private:
  static std::tuple<int, std::int64_t, std::int64_t> rank(const RunningView& view) {
    return {view.alone.value == 0 ? 1 : 0, view.alone.value, view.computed.value};
  }
};

const Registered<VictimRule, LeastLost> kLeastLost{"least_lost",
                                                   "Fewest blocks that nobody shares, then least computed."};

}  // namespace
}  // namespace servetwin
