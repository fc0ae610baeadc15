// TensorRT-LLM under its GUARANTEED_NO_EVICT capacity policy.
#include "engine/serving/presets/trtllm.h"

namespace servetwin {
namespace {

struct TrtllmGuaranteedNoEvict {
  static constexpr const char* kStep = "trtllm_guaranteed_no_evict";
};

const Registered<Preset, TrtllmPreset<TrtllmGuaranteedNoEvict>> kTrtllmGuaranteedNoEvict{
    "trtllm-guaranteed-no-evict",
    "TensorRT-LLM's batch manager, GUARANTEED_NO_EVICT, chunked context. Left out: its radix cache's partial "
    "blocks and 'beneficial to skip', beams."};

}  // namespace
}  // namespace servetwin
