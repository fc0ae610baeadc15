// TensorRT-LLM's STATIC_BATCH: blocks to completion are reserved, and nobody enters while anybody runs.
#include "engine/serving/capacity_scheduler.h"

namespace servetwin {
namespace {

struct StaticCapacity {
  static constexpr CapacityPolicy kPolicy = CapacityPolicy::kStaticBatch;
};

const Registered<StepForm, CapacityForm<StaticCapacity>> kStaticCapacity{
    "trtllm_static_batch",
    "As trtllm_guaranteed_no_evict, and nobody enters while anybody runs (TensorRT-LLM)."};

}  // namespace
}  // namespace servetwin
