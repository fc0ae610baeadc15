// The victim that has computed least: least work is done again, and whoever is furthest always goes on.
#include <tuple>

#include "engine/base/registry.h"
#include "engine/serving/rules.h"

namespace servetwin {
namespace {

class LeastComputed final : public VictimRule {
 public:
  struct Params {
    template <class Visitor>
    void fields(Visitor& /*v*/) {}
  };
  explicit LeastComputed(const Params& /*params*/) {}

  std::size_t pick(const std::vector<RunningView>& running) const override {
    std::size_t best = 0;
    for (std::size_t i = 1; i < running.size(); ++i) {
      if (rank(running[i]) <= rank(running[best])) best = i;  // of equals the one admitted last
    }
    return best;
  }

 private:
  static std::int64_t rank(const RunningView& view) { return view.computed.value; }
};

const Registered<VictimRule, LeastComputed> kLeastComputed{"least_computed",
                                                           "Fewest tokens computed, then admitted last."};

}  // namespace
}  // namespace servetwin
