// Dims of the routed experts of one layer on one rank.
#pragma once

#include <cstddef>

namespace servetwin {

enum ExpertDim : std::size_t {
  kExpertTokens,  // of all ranks
  kExpertHidden,
  kExpertWidth,  // of an expert on this rank
  kExpertTopK,
  kExpertCount,    // of the model
  kExpertRanks,    // that divide the experts among them
  kExpertBits,     // a byte's part times 8: bits of a weight
  kExpertRouting,  // 0 even; 1 and 2: power laws of exponent 1.01 and 1.2
  kExpertRate      // products a second in the kernel's number format against 16 bits: 2 of 8 bits
};

}  // namespace servetwin
