// llama.cpp server's slots as a form of steps.
#include "engine/base/registry.h"
#include "engine/serving/slot_builder.h"

namespace servetwin {
namespace {

class Slots final : public StepForm {
 public:
  using Params = SlotParams;
  explicit Slots(const Params& params) : params_(params) {}

  std::unique_ptr<StepBuilder> builder(ReplicaCore& replica) const override {
    return std::make_unique<SlotBuilder>(replica, params_);
  }
  bool asks_rules() const override { return false; }

 private:
  Params params_;
};

const Registered<StepForm, Slots> kSlots{
    "slots", "Fixed slots: a token for each that generates, then prompts up to the batch size (llama.cpp)."};

}  // namespace
}  // namespace servetwin
