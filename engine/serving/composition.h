// In which order a step serves requests, and what rules about that are told of earlier steps.
#pragma once

#include <cstdint>

namespace servetwin {

// In which order a step serves decoders, prompts that have begun and the waiting.
enum class Composition : std::uint8_t {
  kRunningFirst,  // running ones in order of admission, then the waiting (vLLM V1)
  kDecodesFirst,  // decoders, prompts that have begun, the waiting (Sarathi-Serve)
  kPrefillAlone   // prompts that have begun and the waiting; decoders only if none of these can go (vLLM V0)
};

struct PhaseView {
  std::int64_t running = 0;
  std::int64_t waiting = 0;
  std::int64_t decodes = 0;  // steps without a prompt since the last step of prompts
  bool merged = false;       // the last step had prompts that joined others
};

// Since the last preemption, or since somebody began to run where nobody did.
struct PressureHistory {
  std::int64_t decodes = 0;    // steps of decoders alone
  std::int64_t remaining = 0;  // requests that went on running then; the sums are over them
  std::int64_t outputs = 0;
  std::int64_t asked = 0;  // outputs at most; 0: nobody was preempted
};

}  // namespace servetwin
