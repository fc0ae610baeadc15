// SGLang's retraction: who has given fewest outputs goes first, of these the longest prompt, of these the
// last admitted; and once somebody goes, until the others have room for some steps.
#include <tuple>

#include "engine/base/registry.h"
#include "engine/serving/rules.h"

namespace servetwin {
namespace {

class FewestOutputs final : public VictimRule {
 public:
  struct Params {
    std::int64_t steps_ahead = 20;

    template <class Visitor>
    void fields(Visitor& v) {
      v("steps_ahead", steps_ahead, "Tokens that each of the remaining shall have room for.",
        Range{0, 10'000});
    }
  };
  explicit FewestOutputs(const Params& params) : params_(params) {}

  std::size_t pick(const std::vector<RunningView>& running) const override {
    std::size_t victim = 0;
    for (std::size_t i = 1; i < running.size(); ++i) {
      if (rank(running[i]) <= rank(running[victim])) victim = i;
    }
    return victim;
  }
  Tokens room_each() const override { return Tokens{params_.steps_ahead}; }

 private:
  static std::tuple<Tokens, Tokens> rank(const RunningView& view) {
    return {view.outputs, Tokens{0} - view.request->prompt};
  }

  Params params_;
};

const Registered<VictimRule, FewestOutputs> kFewestOutputs{
    "fewest_outputs", "Fewest outputs, then the longest prompt, until the others have room (SGLang)."};

}  // namespace
}  // namespace servetwin
