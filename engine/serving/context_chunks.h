// How TensorRT-LLM divides a step's tokens among the prompts of a batch.
#pragma once

#include <cstdint>
#include <vector>

namespace servetwin {

enum class ContextChunking : std::uint8_t {
  kEqualProgress,         // a unit for each in turn, as long as there are tokens
  kFirstComeFirstServed,  // the first takes what it can, in whole units unless it ends its prompt
};

// Tokens for each, of those it still has to compute; they add up to `budget` at most.
std::vector<std::int64_t> divide_context(const std::vector<std::int64_t>& rests,
                                         std::int64_t budget,
                                         std::int64_t unit,
                                         ContextChunking policy);

}  // namespace servetwin
