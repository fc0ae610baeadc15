// TensorRT-LLM under its MAX_UTILIZATION capacity policy.
#include "engine/serving/presets/trtllm.h"

namespace servetwin {
namespace {

struct TrtllmMaxUtilization {
  static constexpr const char* kStep = "trtllm_max_utilization";
};

const Registered<Preset, TrtllmPreset<TrtllmMaxUtilization>> kTrtllmMaxUtilization{
    "trtllm-max-utilization",
    "TensorRT-LLM's batch manager, MAX_UTILIZATION, chunked context. Left out: its two-step look-ahead, a "
    "waiting request that pauses running ones of lower priority, beams."};

}  // namespace
}  // namespace servetwin
