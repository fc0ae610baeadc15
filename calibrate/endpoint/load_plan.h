// Which loads a server is measured with.
#pragma once

#include <cstdint>
#include <vector>

namespace servetwin {

// One request alone; several that decode together; a prompt that joins them; many, until some wait.
enum class LoadPhase { kPrompt, kDecode, kMixed, kCapacity };
const char* to_string(LoadPhase phase);

struct LoadPoint {
  LoadPhase phase = LoadPhase::kPrompt;
  std::int64_t requests = 1;  // that decode together
  std::int64_t prompt = 0;    // tokens of each
  std::int64_t output = 0;
  std::int64_t joins = 0;  // tokens of the prompt that joins them

  friend bool operator==(const LoadPoint&, const LoadPoint&) = default;
};

// Names a load, so that rows of it are found again whatever else a plan holds.
std::int64_t number_of(const LoadPoint& point);

struct LoadSpace {
  std::int64_t max_model_len = 4096;
  std::int64_t max_prompt = 8192;      // longest prompt of the ladder
  std::int64_t max_concurrency = 64;   // most requests at once
  std::int64_t max_resident = 65'536;  // most tokens of all requests at once, but for the capacity's probe
};

// A sweep: prompts alone from short to long, 1, 2, 4, … requests at once with short and with long contexts,
// prompts that join some of them.
std::vector<LoadPoint> load_sweep(const LoadSpace& space);

}  // namespace servetwin
