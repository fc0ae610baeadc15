// How often the ranks of a replica call which collective, and the bytes they give it: as counted, and by
// formula.
#pragma once

#include <array>
#include <cstdint>
#include <string>

#include "engine/models/tensor_parallel.h"
#include "kernels/collectives/communicator.h"

namespace servetwin {

// By operation, of all ranks together.
struct CollectiveVolume {
  std::array<CollectiveCount, kNumCollectiveOps> counts{};

  CollectiveCount& operator[](CollectiveOp op) { return counts[static_cast<std::size_t>(op)]; }
  const CollectiveCount& operator[](CollectiveOp op) const { return counts[static_cast<std::size_t>(op)]; }
  CollectiveVolume& operator+=(const CollectiveVolume& other);
  bool operator==(const CollectiveVolume&) const = default;
};

// Of a forward pass on so many tokens, some of their rows sampled, by formula; of one rank nothing.
CollectiveVolume forward_volume(
    const ModelSpec& model, int ranks, const SplitLayout& layout, std::int64_t tokens, std::int64_t sampled);

// As one rank counted; a null group has counted nothing.
CollectiveVolume counted_volume(const Communicator* group);

struct CollectiveCheck {
  CollectiveVolume counted;
  CollectiveVolume by_formula;
};

// "1,234 all-reduces of 5.2 MB, 30 all-gathers of 1 kB"; empty when there is nothing.
std::string to_text(const CollectiveVolume& volume);

}  // namespace servetwin
