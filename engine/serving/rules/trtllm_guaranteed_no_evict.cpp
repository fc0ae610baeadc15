// TensorRT-LLM's GUARANTEED_NO_EVICT: whoever enters has its blocks to completion reserved.
#include "engine/serving/capacity_scheduler.h"

namespace servetwin {
namespace {

struct GuaranteedNoEvict {
  static constexpr CapacityPolicy kPolicy = CapacityPolicy::kGuaranteedNoEvict;
};

const Registered<StepForm, CapacityForm<GuaranteedNoEvict>> kGuaranteedNoEvict{
    "trtllm_guaranteed_no_evict",
    "Reserve blocks to completion; generation first, then context chunks (TensorRT-LLM)."};

}  // namespace
}  // namespace servetwin
