// TensorRT-LLM's micro-batch scheduler, the part on context chunks.
#include "engine/serving/context_chunks.h"

#include <algorithm>
#include <numeric>

namespace servetwin {
namespace {

std::vector<std::int64_t> equal_progress(const std::vector<std::int64_t>& rests,
                                         std::int64_t budget,
                                         std::int64_t unit) {
  std::vector<std::int64_t> chunks(rests.size(), 0);
  std::int64_t given = -1;
  while (given != 0) {
    given = 0;
    for (std::size_t i = 0; i < rests.size(); ++i) {
      const std::int64_t more = std::min(unit, rests[i] - chunks[i]);
      if (more > budget) continue;
      chunks[i] += more;
      budget -= more;
      given += more;
    }
  }
  return chunks;
}

std::vector<std::int64_t> first_come_first_served(const std::vector<std::int64_t>& rests,
                                                  std::int64_t budget,
                                                  std::int64_t unit) {
  std::vector<std::int64_t> chunks;
  for (const std::int64_t rest : rests) {
    const std::int64_t chunk = rest <= budget ? rest : budget / unit * unit;
    chunks.push_back(chunk);
    budget -= chunk;
  }
  return chunks;
}

}  // namespace

// Chunks are cut only where the prompts do not all fit whole.
std::vector<std::int64_t> divide_context(const std::vector<std::int64_t>& rests,
                                         std::int64_t budget,
                                         std::int64_t unit,
                                         ContextChunking policy) {
  if (std::accumulate(rests.begin(), rests.end(), std::int64_t{0}) <= budget) return rests;
  return policy == ContextChunking::kEqualProgress ? equal_progress(rests, budget, unit)
                                                   : first_come_first_served(rests, budget, unit);
}

}  // namespace servetwin
