// TensorRT-LLM under its STATIC_BATCH capacity policy.
#include "engine/serving/presets/trtllm.h"

namespace servetwin {
namespace {

struct TrtllmStaticBatch {
  static constexpr const char* kStep = "trtllm_static_batch";
};

const Registered<Preset, TrtllmPreset<TrtllmStaticBatch>> kTrtllmStaticBatch{
    "trtllm-static-batch",
    "TensorRT-LLM's batch manager, STATIC_BATCH, chunked context. Left out: its radix cache's partial "
    "blocks, beams."};

}  // namespace
}  // namespace servetwin
