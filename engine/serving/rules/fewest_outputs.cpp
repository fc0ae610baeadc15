// The victim with the fewest outputs, of equals the longest prompt (SGLang's retraction).
#include <tuple>

#include "engine/base/registry.h"
#include "engine/serving/rules.h"

namespace servetwin {
namespace {

class FewestOutputs final : public VictimRule {
 public:
  struct Params {
    template <class Visitor>
    void fields(Visitor& /*v*/) {}
  };
  explicit FewestOutputs(const Params& /*params*/) {}

  std::size_t pick(const std::vector<RunningView>& running) const override {
    std::size_t best = 0;
    for (std::size_t i = 1; i < running.size(); ++i) {
      if (rank(running[i]) <= rank(running[best])) best = i;  // of equals the one admitted last
    }
    return best;
  }

 private:
  static std::tuple<std::int64_t, std::int64_t> rank(const RunningView& view) {
    return {view.outputs.value, -view.request->prompt.value};
  }
};

const Registered<VictimRule, FewestOutputs> kFewestOutputs{"fewest_outputs",
                                                           "Fewest outputs, then longest prompt (SGLang)."};

}  // namespace
}  // namespace servetwin
