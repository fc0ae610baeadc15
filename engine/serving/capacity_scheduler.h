// TensorRT-LLM's steps: a capacity scheduler says whose KV fits, a micro-batch scheduler whose tokens do.
#pragma once

#include <cstdint>
#include <set>
#include <vector>

#include "engine/base/registry.h"
#include "engine/serving/context_chunks.h"
#include "engine/serving/step_builder.h"

namespace servetwin {

enum class CapacityPolicy : std::uint8_t {
  kGuaranteedNoEvict,  // who enters has its blocks to completion reserved
  kMaxUtilization,     // who fits now enters; the last started is paused when blocks run out
  kStaticBatch,        // as kGuaranteedNoEvict, and only when nobody runs
};

struct CapacityParams {
  ContextChunking chunking = ContextChunking::kFirstComeFirstServed;
  Tokens chunk_unit{64};
  std::int64_t adapters = 0;

  template <class Visitor>
  void fields(Visitor& v) {
    v("chunking", chunking, "How prompts that do not all fit share a step.",
      Choices<ContextChunking>{{"equal_progress", ContextChunking::kEqualProgress},
                               {"first_come_first_served", ContextChunking::kFirstComeFirstServed}});
    v("chunk_unit", chunk_unit, "Chunks are whole multiples of it, but for the last of a prompt.",
      Range{1, std::int64_t{1} << 30});
    v("adapters", adapters, "Different adapters that may run at once; 0 for no bound.", Range{0, 1'000'000});
  }
};

// Asks the waiting order, the victim rule and the pressure rule; entering and chunks are its own.
class CapacityScheduler final : public StepBuilder {
 public:
  CapacityScheduler(ReplicaCore& replica, CapacityPolicy policy, const CapacityParams& params);

  bool build(Time now) override;

 private:
  // A prompt that has a claim on this step's tokens: it has begun, or may enter.
  struct Context {
    Slot slot = kNoSlot;
    std::int64_t rest = 0;  // tokens
  };

  void generate();
  std::optional<HeldReason> collect_waiting();
  std::optional<HeldReason> cannot_enter(Slot slot);
  bool adapter_fits(const RequestState& state) const;
  std::int64_t blocks_to_end(const RequestState& state) const;
  std::vector<std::int64_t> divide() const;
  std::optional<HeldReason> run_contexts();
  std::optional<HeldReason> set_aside(Slot slot, std::optional<HeldReason> left_out);

  const CapacityPolicy policy_;
  const CapacityParams params_;
  std::vector<Context> contexts_;
  std::vector<Slot> looked_at_;   // waiting, in order; they have left their queue
  std::int64_t left_ = 0;         // blocks for those that may still enter
  std::set<AdapterId> adapters_;  // of those that run or may enter
};

// One of the policies as a form of steps: Policy::kPolicy.
template <class Policy>
class CapacityForm final : public StepForm {
 public:
  using Params = CapacityParams;
  explicit CapacityForm(const Params& params) : params_(params) {}

  std::unique_ptr<StepBuilder> builder(ReplicaCore& replica) const override {
    return std::make_unique<CapacityScheduler>(replica, Policy::kPolicy, params_);
  }
  bool asks_rules() const override { return false; }

 private:
  Params params_;
};

}  // namespace servetwin
