// From logits to the next token. The order of operations is vLLM's; docs/live.md lists it.
#pragma once

#include <cstdint>
#include <vector>

#include "engine/decoding/sampling_params.h"

namespace servetwin {

// What was said so far. `stream` and `position` name the draw: the same text continues the same way in every
// batch, after a preemption and in every other request of equal seed that writes the same stream.
struct SamplingContext {
  const std::vector<TokenId>* tokens = nullptr;  // prompt and outputs
  std::int64_t prompt = 0;                       // how many of them are prompt
  std::uint64_t stream = 0;
  std::uint32_t position = 0;
};

struct TokenLogprob {
  TokenId token = 0;
  float logprob = 0;
};

struct SampledToken {
  TokenId token = 0;
  float logprob = 0;                // of the model itself, before penalties and temperature
  std::vector<TokenLogprob> top{};  // the most likely, best first; equal ones by id
};

// Keeps its scratch space between calls.
class Sampler {
 public:
  SampledToken sample(const float* logits,
                      std::int64_t vocab,
                      const SamplingParams& params,
                      const SamplingContext& context);

 private:
  struct Candidate {
    TokenId token = 0;
    float logit = 0;
    double probability = 0;
  };

  void report_logprobs(const SamplingParams& params, SampledToken& result) const;
  void restrict(const SamplingParams& params, const SamplingContext& context);
  void penalise(const SamplingParams& params, const SamplingContext& context);
  TokenId most_likely() const;
  TokenId draw(const SamplingParams& params, const SamplingContext& context);
  void keep_min_p(double min_p);
  void keep_top_p(double top_p);

  std::vector<float> raw_;            // as the model gave them
  std::vector<float> logits_;         // as the request wants them
  std::vector<std::int32_t> counts_;  // by token
  std::vector<Candidate> kept_;       // most likely first
};

// Whether the answer ends with this token; `outputs` counts it. Length is not its business.
bool stops(const SamplingParams& params, TokenId token, std::int64_t outputs);

}  // namespace servetwin
