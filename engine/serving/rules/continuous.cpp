// Iteration-level scheduling: every step is formed anew by the loop that asks the other rules.
#include "engine/base/registry.h"
#include "engine/serving/step_builder.h"

namespace servetwin {
namespace {

class Continuous final : public StepForm {
 public:
  struct Params {
    template <class Visitor>
    void fields(Visitor& /*v*/) {}
  };
  explicit Continuous(const Params& /*params*/) {}

  std::unique_ptr<StepBuilder> builder(ReplicaCore& replica) const override {
    return std::make_unique<StepBuilder>(replica);
  }
  bool plain_loop() const override { return false; }
};

const Registered<StepForm, Continuous> kContinuous{
    "continuous", "Each step is formed anew, as the batch rule composes it (continuous batching)."};

}  // namespace
}  // namespace servetwin
