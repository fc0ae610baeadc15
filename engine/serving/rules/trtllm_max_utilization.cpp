// TensorRT-LLM's MAX_UTILIZATION: whoever fits now enters, and the last started is paused when blocks run
// out.
#include "engine/serving/capacity_scheduler.h"

namespace servetwin {
namespace {

struct MaxUtilization {
  static constexpr CapacityPolicy kPolicy = CapacityPolicy::kMaxUtilization;
};

const Registered<StepForm, CapacityForm<MaxUtilization>> kMaxUtilization{
    "trtllm_max_utilization",
    "Enter if the sequence fits now, pause the last started when it no longer does (TensorRT-LLM)."};

}  // namespace
}  // namespace servetwin
