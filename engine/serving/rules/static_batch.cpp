// Static batching (FasterTransformer): a batch runs until the last of it has ended, and is computed padded to
// its longest.
#include "engine/base/registry.h"
#include "engine/serving/step_builder.h"

namespace servetwin {
namespace {

class StaticBatchBuilder final : public StepBuilder {
 public:
  explicit StaticBatchBuilder(ReplicaCore& replica) : StepBuilder(replica) {}

  bool build(Time now) override {
    open(now);
    set_aside_.clear();
    std::optional<HeldReason> refusal = HeldReason::kPaused;
    if (!r_.paused && r_.running.empty()) {
      refusal = scan_waiting();
      batch_ = r_.num_running();
    } else if (!r_.paused) {
      schedule_running(Part::kAll);
      refusal = preempted_ ? HeldReason::kPreempted : HeldReason::kPhase;
    }
    count_waiting(refusal);
    pad();
    return close();
  }

 private:
  // Those that have ended stay in the batch, and everyone computes and reads as much as the longest does.
  void pad() {
    StepShape& shape = r_.plan.shape;
    if (shape.tokens == 0) return;
    if (shape.decode_sequences == shape.sequences) {
      shape.padding_sequences = shape.padding_tokens = batch_ - shape.sequences;
      shape.tokens = shape.sequences = shape.decode_sequences = batch_;
      shape.decode_context = batch_ * shape.max_context;
      shape.window_context = batch_ * std::min(shape.max_context, shape.window);
    } else if (shape.new_sequences == shape.sequences) {
      const std::int64_t padded = shape.sequences * longest_.value;
      shape.padding_tokens = padded - shape.tokens;
      shape.tokens = shape.prefill_tokens = padded;
      shape.prefill_q_squared = padded * longest_.value;
      if (shape.window > 0)
        shape.window_pairs = shape.sequences * pairs_in_window(longest_.value, 0, shape.window);
    }
  }

  std::int64_t batch_ = 0;  // requests it began with
};

class StaticBatch final : public StepForm {
 public:
  struct Params {
    template <class Visitor>
    void fields(Visitor& /*v*/) {}
  };
  explicit StaticBatch(const Params& /*params*/) {}

  std::unique_ptr<StepBuilder> builder(ReplicaCore& replica) const override {
    return std::make_unique<StaticBatchBuilder>(replica);
  }
};

const Registered<StepForm, StaticBatch> kStaticBatch{
    "static_batch", "Nobody enters before the whole batch has ended; computed padded to the longest."};

}  // namespace
}  // namespace servetwin
