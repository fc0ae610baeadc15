// Rotation speeds of rotary embeddings, with the published ways of stretching them to longer contexts.
#pragma once

#include <cstdint>
#include <vector>

namespace servetwin {

enum class RotaryScaling : std::uint8_t {
  kNone,
  kLinear,      // position interpolation: all speeds / factor
  kNtk,         // a larger base, so that the slowest speed is divided by factor
  kDynamicNtk,  // kNtk for the longest sequence served, fixed for all so that cached keys stay valid
  kYarn,        // slow dimensions interpolated, fast ones kept, a ramp between; keys and queries are scaled
  kLlama3,      // the ramp of Llama 3.1 over wavelengths
  kDivisors     // each pair's speed is divided by a figure of its own, as in LongRoPE
};

struct RotaryOptions {
  std::int64_t head_dim = 0;  // rotated elements of a head, even
  double theta = 10'000;
  RotaryScaling scaling = RotaryScaling::kNone;
  double factor = 1;
  double original_max_position = 0;  // context the model was first trained for
  double max_position = 0;           // kDynamicNtk: longest sequence served
  double low_freq_factor = 1;        // kLlama3
  double high_freq_factor = 4;
  double beta_fast = 32;  // kYarn
  double beta_slow = 1;
  std::vector<double> divisors;  // kDivisors: head_dim / 2 of them
  double magnitude = 0;          // of cosine and sine; 0: by the scaling's own rule
};

struct RotaryFrequencies {
  std::vector<float> speeds;  // radians a position, head_dim / 2 of them
  float magnitude = 1;        // of cosine and sine
};

RotaryFrequencies rotary_frequencies(const RotaryOptions& options);

}  // namespace servetwin
