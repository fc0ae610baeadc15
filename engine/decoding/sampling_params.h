// How a request wants its tokens chosen and when they end.
#pragma once

#include <cstdint>
#include <vector>

#include "engine/base/token_id.h"

namespace servetwin {

struct LogitBias {
  TokenId token = 0;
  float bias = 0;
};

// Defaults change nothing: greedy, no penalties.
struct SamplingParams {
  float temperature = 0;   // 0: the most likely token
  std::int32_t top_k = 0;  // keep the k most likely, 0: all
  double top_p = 1;        // keep the most likely until their sum reaches this; the one that crosses is kept
  double min_p = 0;        // keep what is at least this share of the most likely
  float repetition_penalty = 1;  // of prompt and output tokens: positive logits divided, negative multiplied
  float frequency_penalty = 0;   // subtracted once for each time the token was put out
  float presence_penalty = 0;    // subtracted once if it was put out
  std::vector<LogitBias> logit_bias{};
  std::vector<TokenId> allowed{};   // nothing else may be chosen; empty: everything may
  std::vector<TokenId> stop_ids{};  // end the answer, as its last token
  std::vector<TokenId> eos_ids{};   // of the model
  bool ignore_eos = false;
  std::int64_t min_tokens = 0;  // before so many outputs no stop id and no EOS is chosen
  std::int32_t logprobs =
      -1;  // how many of the most likely are reported; negative: none, not even the token's
  std::uint64_t seed = 0;
};

}  // namespace servetwin
